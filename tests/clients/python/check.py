"""Asks a Strata server over gRPC knowing nothing but its address: messages come from reflection."""

import sys
import uuid

import grpc
from google.protobuf import descriptor_pool, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

SERVICE = "strata.v1.MemoryService"
DEADLINE_S = 30


def main(address):
    with grpc.insecure_channel(address) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        for name in ("", SERVICE):
            status = health.Check(health_pb2.HealthCheckRequest(service=name), timeout=DEADLINE_S).status
            assert status == health_pb2.HealthCheckResponse.SERVING, (name, status)

        database = ProtoReflectionDescriptorDatabase(channel)
        assert SERVICE in database.get_services(), database.get_services()
        service = descriptor_pool.DescriptorPool(database).FindServiceByName(SERVICE)

        def call(name, **fields):
            method = service.methods_by_name[name]
            request = message_factory.GetMessageClass(method.input_type)(**fields)
            answer = message_factory.GetMessageClass(method.output_type)
            stub = channel.unary_unary(
                f"/{SERVICE}/{name}",
                request_serializer=type(request).SerializeToString,
                response_deserializer=answer.FromString,
            )
            return stub(request, timeout=DEADLINE_S)

        added = call(
            "AddSource",
            key="friends",
            title="Mira and Tomás",
            turns=[
                {"id": "t1", "author": "Mira", "role": 1, "text": "I moved to Porto in March."},
                {"id": "t2", "author": "Tomás", "role": 1, "text": "The soup needs red lentils and cumin."},
            ],
            request_id=str(uuid.uuid4()),
        )
        assert added.manifest_version > 0 and added.version == 1 and added.changed, added

        found = call(
            "Search",
            question="Who moved to Porto?",
            k=1,
            unit=2,
            min_manifest_version=added.manifest_version,
        )
        assert [hit.unit_id for hit in found.hits] == ["t1"], found
        hit = found.hits[0]
        assert hit.source.id == added.source_id and hit.source.key == "friends", hit
        assert 0 <= hit.score <= 1 and hit.author == "Mira" and "Porto" in hit.text, hit
        assert found.manifest_version >= added.manifest_version, found

        context = call("GetContext", question="red lentils", max_tokens=400)
        assert "lentils" in context.text and 0 < context.n_tokens <= 400, context
        assert context.records[0].citation == 1, context

        try:
            call("Search", question="", k=1)
            raise AssertionError("an empty question was answered")
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error
    print("python client: reflection, health, AddSource, Search and GetContext agree")


if __name__ == "__main__":
    main(sys.argv[1])
