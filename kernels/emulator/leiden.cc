// Runs the kernel of leiden.cu: documents given by their graphs, labels out.
#include "job.h"
#include "../src/gpu/leiden.cu"

enum { SENTENCE_BYTES = 35, DOCUMENT_BYTES = 40 };

static void run(Job& job) {
    const Input<u32> documents = job.input<u32>("documents");
    const Input<u32> offsets = job.input<u32>("offsets");
    const Input<u32> rows = job.input<u32>("rows");
    const Input<u16> columns = job.input<u16>("columns");
    const Input<i32> weights = job.input<i32>("weights");
    const Input<i64> pulls = job.input<i64>("pulls");
    const LeidenShape shape = job.value<LeidenShape>("shape");
    Output<u16> labels = job.output<u16>("labels", offsets[offsets.n() - 1]);
    u32 n_max = 0;
    for (size_t d = 0; d + 1 < offsets.n(); d++) n_max = larger(n_max, offsets[d + 1] - offsets[d]);
    launch((unsigned)documents.n(), 32, SENTENCE_BYTES * n_max + DOCUMENT_BYTES, [&] {
        CALL(leiden_documents, documents.data(), offsets.data(), rows.data(), columns.data(), weights.data(), pulls.data(),
             labels.data(), shape);
    });
}

int main(int n, char** arguments) { return run_job(n, arguments, run); }
