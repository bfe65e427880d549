// Fibers: stacks that a program switches between by itself, on one thread of the machine.
//
// Knows stacks and registers. Does not know blocks, warps or kernels.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define STRATA_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STRATA_ASAN 1
#endif
#endif
#if defined(STRATA_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

// Saves the callee's registers on the running stack, leaves its top in `*from` and goes on with the stack `to`.
// Elsewhere, or with STRATA_UCONTEXT, the system's own switch does it, some ten times slower.
#if defined(STRATA_UCONTEXT)
#include <ucontext.h>
#elif defined(__x86_64__)
extern "C" void strata_switch(void** from, void* to) asm("strata_switch");
asm(R"(
.text
.globl strata_switch
strata_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rdx
    jmpq *%rdx
)");
#define STRATA_SWITCH 1
#elif defined(__aarch64__)
extern "C" void strata_switch(void** from, void* to) asm("strata_switch");
asm(R"(
.text
.globl strata_switch
.p2align 2
strata_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
)");
#define STRATA_SWITCH 1
#else
#include <ucontext.h>
#endif

namespace fibers {

enum : size_t { STACK_BYTES = 256 * 1024, PAGE_BYTES = 64 * 1024 };

struct Fiber {
    void* top = nullptr;  // where its registers lie while it does not run
    char* stack = nullptr;
    size_t stack_bytes = 0;
#if !defined(STRATA_SWITCH)
    ucontext_t context;
#endif
#if defined(STRATA_ASAN)
    void* fake_stack = nullptr;
#endif
};

// The thread's own stack, from which the first fiber is started, and what every fiber runs; it never returns.
inline Fiber* home = nullptr;
inline void (*fiber_main)() = nullptr;

// The first function on each new stack.
inline void enter() {
#if defined(STRATA_ASAN)
    const void* bottom = nullptr;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
    if (home->stack == nullptr) {
        // The first fiber comes from the thread's stack: this is the moment to learn where that lies.
        home->stack = (char*)bottom;
        home->stack_bytes = bytes;
    }
#endif
    fiber_main();
    abort();
}

// Gives `fiber` a stack, with a page below it that no one may touch. It starts in `fiber_main`.
inline void create(Fiber& fiber) {
    char* memory = (char*)mmap(nullptr, STACK_BYTES + PAGE_BYTES, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE_BYTES, PROT_NONE) != 0) {
        fprintf(stderr, "emulator: no memory for a stack\n");
        _Exit(70);
    }
    fiber.stack = memory + PAGE_BYTES;
    fiber.stack_bytes = STACK_BYTES;
#if !defined(STRATA_SWITCH)
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = STACK_BYTES;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, enter, 0);
#elif defined(__x86_64__)
    // Six registers and the address to go on at; a function starts with its stack 8 off a multiple of 16.
    void** top = (void**)(fiber.stack + STACK_BYTES - 8);
    *top = nullptr;
    *--top = (void*)enter;
    for (int i = 0; i < 6; i++) *--top = nullptr;
    fiber.top = top;
#else
    void** top = (void**)(fiber.stack + STACK_BYTES - 160);
    for (int i = 0; i < 20; i++) top[i] = nullptr;
    top[11] = (void*)enter;
    fiber.top = top;
#endif
}

// Goes on with `to`; returns when someone switches back to `from`, the fiber that runs now.
inline void switch_to(Fiber& from, Fiber& to) {
#if defined(STRATA_ASAN)
    __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
#endif
#if defined(STRATA_SWITCH)
    strata_switch(&from.top, to.top);
#else
    swapcontext(&from.context, &to.context);
#endif
#if defined(STRATA_ASAN)
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

}  // namespace fibers
