/* A native hook at its simplest: hear the event out, and print the answer that is in a file. */
#include <fcntl.h>
#include <unistd.h>

static char room[1 << 16];

int main(int count, char **words) {
    while (read(0, room, sizeof room) > 0) {
    }
    int answer = count > 1 ? open(words[1], O_RDONLY) : -1;
    ssize_t got = answer < 0 ? -1 : read(answer, room, sizeof room);
    return got < 0 || write(1, room, (size_t)got) != got;
}
