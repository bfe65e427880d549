// The functions of one library, each of which loads that library at its first call.
//
// Linked in place of the library, so that a program that may use an NVIDIA card starts where there is no driver.
// A function that cannot be found answers as the library itself would answer «not initialised». It never crashes.
//
// Compiled once a library, with SYMBOLS naming a list of `LAZY(index, name, answer)`, SONAMES the files to try and
// MISSING the status to answer with. x86-64 and aarch64, ELF.
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static const char *const sonames[] = {SONAMES};

static long status(void) { return MISSING; }
static long zero(void) { return 0; }
static const char *text(void) { return "the library is not there"; }

struct function {
    const char *name;
    void *otherwise;
};

static const struct function functions[] = {
#define LAZY(index, name, answer) {#name, (void *)answer},
#include SYMBOLS
#undef LAZY
};

// Where each function is, once it has been called; the stubs below read it.
__attribute__((used)) static void *lazy_slots[sizeof functions / sizeof *functions];

static void *library;
static pthread_once_t opened = PTHREAD_ONCE_INIT;

static void open_library(void) {
    for (size_t i = 0; i < sizeof sonames / sizeof *sonames && !library; i++)
        library = dlopen(sonames[i], RTLD_NOW | RTLD_GLOBAL);
}

__attribute__((used)) static void *lazy_resolve(unsigned index) {
    pthread_once(&opened, open_library);
    void *found = library ? dlsym(library, functions[index].name) : NULL;
    if (!found) found = functions[index].otherwise;
    __atomic_store_n(&lazy_slots[index], found, __ATOMIC_RELEASE);
    return found;
}

// A stub jumps to its slot; the first time it goes through `lazy_first`, which keeps every argument as it is.
#define TEXT(x) #x
#define ENTRY(name) ".globl " #name "\n.type " #name ",%function\n.p2align 4\n" #name ":\n"

#if defined(__x86_64__)
#define LAZY(index, name, answer)                                                                                     \
    __asm__(".text\n" ENTRY(name) "movq lazy_slots+8*" TEXT(index) "(%rip), %rax\n"                                   \
            "testq %rax, %rax\n je 1f\n jmpq *%rax\n"                                                                 \
            "1: movl $" TEXT(index) ", %eax\n jmp lazy_first\n.size " #name ", .-" #name "\n");
__asm__(".text\nlazy_first:\n"
        "pushq %rbp\n movq %rsp, %rbp\n"
        "pushq %rdi\n pushq %rsi\n pushq %rdx\n pushq %rcx\n pushq %r8\n pushq %r9\n"
        "subq $128, %rsp\n"
        "movups %xmm0, (%rsp)\n movups %xmm1, 16(%rsp)\n movups %xmm2, 32(%rsp)\n movups %xmm3, 48(%rsp)\n"
        "movups %xmm4, 64(%rsp)\n movups %xmm5, 80(%rsp)\n movups %xmm6, 96(%rsp)\n movups %xmm7, 112(%rsp)\n"
        "movl %eax, %edi\n call lazy_resolve\n"
        "movups (%rsp), %xmm0\n movups 16(%rsp), %xmm1\n movups 32(%rsp), %xmm2\n movups 48(%rsp), %xmm3\n"
        "movups 64(%rsp), %xmm4\n movups 80(%rsp), %xmm5\n movups 96(%rsp), %xmm6\n movups 112(%rsp), %xmm7\n"
        "addq $128, %rsp\n"
        "popq %r9\n popq %r8\n popq %rcx\n popq %rdx\n popq %rsi\n popq %rdi\n popq %rbp\n"
        "jmpq *%rax\n");
#elif defined(__aarch64__)
// x16 and x17 are free between a call and its function.
#define LAZY(index, name, answer)                                                                                     \
    __asm__(".text\n" ENTRY(name) "adrp x16, lazy_slots+8*" TEXT(index) "\n"                                          \
            "ldr x16, [x16, #:lo12:lazy_slots+8*" TEXT(index) "]\n cbz x16, 1f\n br x16\n"                            \
            "1: mov w17, #" TEXT(index) "\n b lazy_first\n.size " #name ", .-" #name "\n");
__asm__(".text\nlazy_first:\n"
        "stp x29, x30, [sp, #-224]!\n mov x29, sp\n"
        "stp x0, x1, [sp, #16]\n stp x2, x3, [sp, #32]\n stp x4, x5, [sp, #48]\n stp x6, x7, [sp, #64]\n"
        "str x8, [sp, #80]\n"
        "stp q0, q1, [sp, #96]\n stp q2, q3, [sp, #128]\n stp q4, q5, [sp, #160]\n stp q6, q7, [sp, #192]\n"
        "mov w0, w17\n bl lazy_resolve\n mov x16, x0\n"
        "ldp q0, q1, [sp, #96]\n ldp q2, q3, [sp, #128]\n ldp q4, q5, [sp, #160]\n ldp q6, q7, [sp, #192]\n"
        "ldr x8, [sp, #80]\n"
        "ldp x0, x1, [sp, #16]\n ldp x2, x3, [sp, #32]\n ldp x4, x5, [sp, #48]\n ldp x6, x7, [sp, #64]\n"
        "ldp x29, x30, [sp], #224\n"
        "br x16\n");
#else
#error "stubs are written for x86-64 and aarch64"
#endif

#include SYMBOLS
