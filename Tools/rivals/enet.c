// ENet on loopback, for Tools/bench: prints one line of JSON for each figure, named as those of `huddle bench`.
//
// Two threads, a host each: bulk goodput of 64 KiB packets, small reliable packets, and a packet there and back.

#include <enet/enet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { small_bytes = 64, bulk_bytes = 64 << 10, rounds = 5000 };

static atomic_llong received_bytes, received_count;
static atomic_int is_over, answers;
static ENetHost *server;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void die(const char *what) {
    fprintf(stderr, "enet: %s\n", what);
    exit(1);
}

static void *serve(void *unused) {
    (void)unused;
    ENetEvent event;
    while (!is_over) {
        while (enet_host_service(server, &event, 10) > 0) {
            if (event.type != ENET_EVENT_TYPE_RECEIVE) continue;
            received_bytes += event.packet->dataLength;
            received_count += 1;
            if (answers) {
                ENetPacket *back = enet_packet_create(event.packet->data, small_bytes,
                                                      ENET_PACKET_FLAG_RELIABLE);
                enet_peer_send(event.peer, 0, back);
                enet_host_flush(server);
            }
            enet_packet_destroy(event.packet);
        }
    }
    return NULL;
}

// Sends packets of this size for a while; what may be under way is bounded as a window would.
static void send_for(ENetHost *client, ENetPeer *peer, size_t bytes, double seconds, long long ahead) {
    static char payload[bulk_bytes];
    ENetEvent event;
    long long sent = 0, first = received_count;
    double end = now() + seconds;
    while (now() < end) {
        while (sent - (received_count - first) < ahead) {
            ENetPacket *packet = enet_packet_create(payload, bytes, ENET_PACKET_FLAG_RELIABLE);
            if (enet_peer_send(peer, 0, packet) < 0) die("a packet was refused");
            sent += 1;
        }
        while (enet_host_service(client, &event, 0) > 0) {}
    }
    while (received_count - first < sent && now() < end + 20) {
        while (enet_host_service(client, &event, 1) > 0) {}
    }
    if (received_count - first < sent) die("packets did not arrive");
}

static void row(const char *name, double figure, const char *unit) {
    printf("{\"name\":\"%s\",\"figure\":%f,\"unit\":\"%s\"}\n", name, figure, unit);
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

int main(int count, char **arguments) {
    double seconds = count > 1 ? atof(arguments[1]) : 3;
    if (seconds <= 0 || enet_initialize() != 0) die("usage: enet SECONDS");
    ENetAddress address = {.port = 0};
    enet_address_set_host(&address, "127.0.0.1");
    server = enet_host_create(&address, 2, 1, 0, 0);
    ENetHost *client = enet_host_create(NULL, 1, 1, 0, 0);
    if (!server || !client) die("no socket");
    if (enet_socket_get_address(server->socket, &address) < 0) die("no address");
    enet_address_set_host(&address, "127.0.0.1");
    pthread_t thread;
    ENetPeer *peer = enet_host_connect(client, &address, 1, 0);
    pthread_create(&thread, NULL, serve, NULL);
    ENetEvent event;
    if (enet_host_service(client, &event, 5000) <= 0 || event.type != ENET_EVENT_TYPE_CONNECT)
        die("no connection");

    double start = now();
    send_for(client, peer, bulk_bytes, seconds, 64);
    row("bulk, one channel, 64 KiB messages", received_bytes / (now() - start) / 1e6, "MB/s");

    long long before = received_count;
    start = now();
    send_for(client, peer, small_bytes, seconds, 4096);
    row("64 B reliable, 500 a call", (received_count - before) / (now() - start) / 1e3, "k/s");

    answers = 1;
    static double samples[rounds];
    static char payload[small_bytes];
    for (int index = 0; index < rounds; index++) {
        double begin = now();
        enet_peer_send(peer, 0, enet_packet_create(payload, small_bytes, ENET_PACKET_FLAG_RELIABLE));
        enet_host_flush(client);
        for (;;) {
            if (enet_host_service(client, &event, 1000) <= 0) die("no answer");
            if (event.type == ENET_EVENT_TYPE_RECEIVE) break;
        }
        enet_packet_destroy(event.packet);
        samples[index] = (now() - begin) * 1e6;
    }
    qsort(samples, rounds, sizeof samples[0], compare);
    row("64 B there and back, on the nodes' threads, p50", samples[rounds / 2], "µs");
    row("64 B there and back, on the nodes' threads, p99", samples[rounds * 99 / 100], "µs");
    is_over = 1;
    pthread_join(thread, NULL);
    return 0;
}
