// Calls a library through its stubs: every argument must arrive, and a missing library must answer so.
// Compiled with -DLIBRARY as the library itself, without as the program.
#include <stdio.h>
#include <string.h>

double sum(long a, long b, long c, long d, long e, long f, long g, double p, double q, double r, double s, double t,
           double u, double v, double w, double x);
int sign(int value);
const char *title(void);
int later(void);

#ifdef LIBRARY
// Each argument in its own digits, so that none can stand for another.
double sum(long a, long b, long c, long d, long e, long f, long g, double p, double q, double r, double s, double t,
           double u, double v, double w, double x) {
    return a + 2e1 * b + 3e2 * c + 4e3 * d + 5e4 * e + 6e5 * f + 7e6 * g + p / 4 + q / 8 + r / 16 + s / 32 + t / 64 +
           u / 128 + v / 256 + w / 512 + x / 1024;
}
int sign(int value) { return -value; }
const char *title(void) { return "the library itself"; }
#else
int main(int argc, char **argv) {
    int there = argc > 1 && !strcmp(argv[1], "there");
    int failed = 0;
    for (int turn = 0; turn < 2; turn++) {
        // The first call finds the library, the second one goes straight there.
        int answer = sign(7);
        failed |= answer != (there ? -7 : 34);
        failed |= later() != 34; // no library has it
        failed |= strcmp(title(), there ? "the library itself" : "the library is not there");
        if (there) {
            double expected = 1 + 2e1 + 3e2 + 4e3 + 5e4 + 6e5 + 7e6 + 0.25 + 0.125 + 0.0625 + 1.0 / 32 + 1.0 / 64 +
                              1.0 / 128 + 1.0 / 256 + 1.0 / 512 + 1.0 / 1024;
            failed |= sum(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1) != expected;
        }
    }
    printf("%s: %s\n", there ? "library there" : "library missing", failed ? "FAILED" : "passed");
    return failed;
}
#endif
