/* A native hook at its simplest: hear the event out, and print the answer that it was compiled with. */
#include <unistd.h>

static const char answer[] = ANSWER;
static char room[1 << 16];

int main(void) {
    while (read(0, room, sizeof room) > 0) {
    }
    return write(1, answer, sizeof answer - 1) != sizeof answer - 1;
}
