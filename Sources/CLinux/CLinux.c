#define _GNU_SOURCE
#include "CLinux.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// Kernel constants that older headers lack.
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif
#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

#define RETRY(call)                                     \
    ({                                                  \
        __typeof__(call) result_;                       \
        do { result_ = (call); } while (result_ < 0 && errno == EINTR); \
        result_ < 0 ? (__typeof__(call))-errno : result_; \
    })

static int set_int(int fd, int level, int name, int value) {
    return RETRY(setsockopt(fd, level, name, &value, sizeof value));
}

// MARK: Clock, process

int64_t linux_clock(void) {
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t linux_unix_time(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec;
}

int linux_error_text(int code, char *buffer, int capacity) {
    char room[128];
    const char *text = strerror_r(code, room, sizeof room);
    int length = (int)strlen(text);
    if (length > capacity) length = capacity;
    memcpy(buffer, text, (size_t)length);
    return length;
}

void linux_thread_name(const char *name) {
    char kept[16] = {0};
    strncpy(kept, name, sizeof kept - 1);
    prctl(PR_SET_NAME, kept, 0, 0, 0);
}

int linux_forbid_core(void) {
    struct rlimit none = {0, 0};
    return RETRY(setrlimit(RLIMIT_CORE, &none));
}

int linux_forbid_ptrace(void) { return RETRY(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)); }
int linux_end_with_parent(int parent) {
    int result = RETRY(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
    // The parent may have ended before the call above.
    return result < 0 ? result : getppid() == parent ? 0 : -ESRCH;
}
int linux_is_dumpable(void) { return RETRY(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)); }

uint64_t linux_heap_bytes(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

void linux_map_above(int byte_count) { mallopt(M_MMAP_THRESHOLD, byte_count); }

// MARK: epoll, eventfd, timerfd

int linux_epoll_create(void) { return RETRY(epoll_create1(EPOLL_CLOEXEC)); }

static int epoll_change(int epoll, int operation, int fd, bool readable, bool writable, uint64_t token) {
    struct epoll_event event = {0};
    event.events = (readable ? EPOLLIN | EPOLLRDHUP : 0) | (writable ? EPOLLOUT : 0);
    event.data.u64 = token;
    return RETRY(epoll_ctl(epoll, operation, fd, &event));
}

int linux_epoll_add(int epoll, int fd, bool readable, bool writable, uint64_t token) {
    return epoll_change(epoll, EPOLL_CTL_ADD, fd, readable, writable, token);
}

int linux_epoll_modify(int epoll, int fd, bool readable, bool writable, uint64_t token) {
    return epoll_change(epoll, EPOLL_CTL_MOD, fd, readable, writable, token);
}

int linux_epoll_remove(int epoll, int fd) {
    return RETRY(epoll_ctl(epoll, EPOLL_CTL_DEL, fd, NULL));
}

int linux_epoll_wait(int epoll, linux_event *events, int capacity, int timeout) {
    struct epoll_event raw[64];
    if (capacity > 64) capacity = 64;
    int count = epoll_wait(epoll, raw, capacity, timeout);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int index = 0; index < count; index++) {
        uint32_t bits = raw[index].events;
        bool gone = bits & (EPOLLERR | EPOLLHUP);
        events[index] = (linux_event){
            .token = raw[index].data.u64,
            .readable = gone || (bits & (EPOLLIN | EPOLLRDHUP)),
            .writable = gone || (bits & EPOLLOUT),
            .closed = bits & (EPOLLHUP | EPOLLRDHUP),
        };
    }
    return count;
}

int linux_eventfd_create(void) { return RETRY(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

int linux_eventfd_signal(int fd) {
    uint64_t one = 1;
    ssize_t result = RETRY(write(fd, &one, sizeof one));
    return result < 0 ? (int)result : 0;
}

int linux_eventfd_drain(int fd) {
    uint64_t value;
    ssize_t result = RETRY(read(fd, &value, sizeof value));
    return result < 0 ? (int)result : 0;
}

int linux_timer_create(void) {
    return RETRY(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
}

int linux_timer_arm(int fd, int64_t nanoseconds) {
    struct itimerspec spec = {0};
    spec.it_value.tv_sec = nanoseconds / 1000000000;
    spec.it_value.tv_nsec = nanoseconds % 1000000000;
    return RETRY(timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL));
}

int linux_close(int fd) { return close(fd) < 0 ? -errno : 0; }

int linux_enter_network(const char *path) {
    int fd = RETRY(open(path, O_RDONLY | O_CLOEXEC));
    if (fd < 0) return fd;
    int result = RETRY(setns(fd, CLONE_NEWNET));
    close(fd);
    return result;
}

int linux_own_network(void) {
    return RETRY(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
}

int linux_set_network(int fd) { return RETRY(setns(fd, CLONE_NEWNET)); }

int linux_new_network(void) {
    int own = linux_own_network();
    if (own < 0) return own;
    int made = RETRY(unshare(CLONE_NEWNET));
    if (made >= 0) {
        made = linux_own_network();
        int back = linux_set_network(own);
        if (back < 0) {
            if (made >= 0) close(made);
            made = back;
        }
    }
    close(own);
    return made;
}

int linux_wait(const int *fds, bool *ready, int count, int64_t nanoseconds) {
    struct pollfd entries[LINUX_WAIT_MAXIMUM];
    if (count > LINUX_WAIT_MAXIMUM) count = LINUX_WAIT_MAXIMUM;
    for (int index = 0; index < count; index++)
        entries[index] = (struct pollfd){.fd = fds[index], .events = POLLIN};
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    int result = ppoll(entries, (nfds_t)count, nanoseconds < 0 ? NULL : &time, NULL);
    if (result < 0 && errno != EINTR) return -errno;
    for (int index = 0; index < count; index++)
        ready[index] = result > 0 && entries[index].revents != 0;
    return result < 0 ? 0 : result;
}

// MARK: Links of a laboratory

int linux_packet_socket(const char *name) {
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons(ETH_P_ALL),
        .sll_ifindex = (int)if_nametoindex(name),
    };
    if (address.sll_ifindex == 0) return -errno;
    // Without a protocol nothing comes before the bind, which would be of every interface.
    int fd = RETRY(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) return fd;
    int result = set_int(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1);
    // Frames carry how much of their checksum is still to be made, in both directions.
    if (result >= 0) result = set_int(fd, SOL_PACKET, PACKET_VNET_HDR, 1);
    if (result >= 0) result = RETRY(bind(fd, (struct sockaddr *)&address, sizeof address));
    if (result < 0) {
        close(fd);
        return result;
    }
    return fd;
}

int linux_route_socket(void) {
    return RETRY(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
}

static void decode_queue(struct tcmsg *message, int length, linux_queue *queue) {
    struct rtattr *item = TCA_RTA(message);
    for (; RTA_OK(item, length); item = RTA_NEXT(item, length)) {
        if (item->rta_type != TCA_STATS2) continue;
        int rest = (int)RTA_PAYLOAD(item);
        struct rtattr *part = RTA_DATA(item);
        for (; RTA_OK(part, rest); part = RTA_NEXT(part, rest)) {
            if (part->rta_type == TCA_STATS_BASIC) {
                // Padded behind its last field.
                memcpy(&queue->bytes, RTA_DATA(part), sizeof queue->bytes);
            } else if (part->rta_type == TCA_STATS_QUEUE) {
                struct gnet_stats_queue found = {0};
                memcpy(&found, RTA_DATA(part), sizeof found);
                queue->backlog = found.backlog;
                queue->drops = found.drops;
            }
        }
    }
}

int linux_queue_status(int fd, const char *name, linux_queue *queue) {
    struct {
        struct nlmsghdr header;
        struct tcmsg body;
    } request = {
        .header = {
            .nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg)),
            .nlmsg_type = RTM_GETQDISC,
            .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
        },
        .body = {.tcm_family = AF_UNSPEC},
    };
    *queue = (linux_queue){0};
    ssize_t sent = RETRY(send(fd, &request, request.header.nlmsg_len, 0));
    if (sent < 0) return (int)sent;
    int wanted = -ENOENT;
    // Netlink counts interfaces in the namespace that the socket was made in, so the name is asked there.
    struct ifreq interface = {0};
    strncpy(interface.ifr_name, name, sizeof interface.ifr_name - 1);
    int found = RETRY(ioctl(fd, SIOCGIFINDEX, &interface));
    while (true) {
        _Alignas(struct nlmsghdr) char buffer[1 << 15];
        ssize_t count = RETRY(recv(fd, buffer, sizeof buffer, 0));
        if (count < 0) return (int)count;
        int length = (int)count;
        struct nlmsghdr *header = (struct nlmsghdr *)buffer;
        for (; NLMSG_OK(header, length); header = NLMSG_NEXT(header, length)) {
            if (header->nlmsg_type == NLMSG_DONE) return found < 0 ? found : wanted;
            if (header->nlmsg_type == NLMSG_ERROR) return -EPROTO;
            struct tcmsg *message = NLMSG_DATA(header);
            if (found < 0 || message->tcm_ifindex != interface.ifr_ifindex) continue;
            if (message->tcm_parent != TC_H_ROOT) continue;
            decode_queue(message, (int)NLMSG_PAYLOAD(header, sizeof *message), queue);
            wanted = 0;
        }
    }
}

// MARK: UDP

// `union` so that one stack object serves both families.
typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address_storage;

static uint64_t load_big(const uint8_t *bytes) {
    uint64_t word = 0;
    for (int index = 0; index < 8; index++) word = word << 8 | bytes[index];
    return word;
}

static void store_big(uint8_t *bytes, uint64_t word) {
    for (int index = 7; index >= 0; index--, word >>= 8) bytes[index] = (uint8_t)word;
}

static linux_address decode_address(const struct sockaddr *raw) {
    linux_address address = {0};
    if (raw == NULL) return address;
    if (raw->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)raw;
        address.low = 0xffff00000000ull | ntohl(v4->sin_addr.s_addr);
        address.port = ntohs(v4->sin_port);
    } else if (raw->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)raw;
        address.high = load_big(v6->sin6_addr.s6_addr);
        address.low = load_big(v6->sin6_addr.s6_addr + 8);
        address.scope = v6->sin6_scope_id;
        address.port = ntohs(v6->sin6_port);
    }
    return address;
}

static socklen_t encode_address(linux_address address, bool ipv6, address_storage *out) {
    memset(out, 0, sizeof *out);
    if (!ipv6) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_addr.s_addr = htonl((uint32_t)address.low);
        out->v4.sin_port = htons(address.port);
        return sizeof out->v4;
    }
    out->v6.sin6_family = AF_INET6;
    store_big(out->v6.sin6_addr.s6_addr, address.high);
    store_big(out->v6.sin6_addr.s6_addr + 8, address.low);
    out->v6.sin6_scope_id = address.scope;
    out->v6.sin6_port = htons(address.port);
    return sizeof out->v6;
}

static int get_int(int fd, int level, int name) {
    int value = 0;
    socklen_t size = sizeof value;
    int result = RETRY(getsockopt(fd, level, name, &value, &size));
    return result < 0 ? result : value;
}

int linux_udp_socket(bool ipv6) {
    int family = ipv6 ? AF_INET6 : AF_INET;
    int fd = RETRY(socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd >= 0 && ipv6) {
        int result = set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
        if (result < 0) {
            close(fd);
            return result;
        }
    }
    return fd;
}

int linux_bind(int fd, linux_address address, bool ipv6) {
    address_storage storage;
    socklen_t size = encode_address(address, ipv6, &storage);
    return RETRY(bind(fd, &storage.any, size));
}

int linux_local_port(int fd) {
    address_storage storage;
    socklen_t size = sizeof storage;
    int result = RETRY(getsockname(fd, &storage.any, &size));
    return result < 0 ? result : decode_address(&storage.any).port;
}

int linux_reuse_address(int fd) { return set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1); }
int linux_allow_broadcast(int fd) { return set_int(fd, SOL_SOCKET, SO_BROADCAST, 1); }

int linux_set_buffers(int fd, int byte_count) {
    // The first form passes net.core.rmem_max where the process may; the second is capped by it.
    if (set_int(fd, SOL_SOCKET, SO_RCVBUFFORCE, byte_count) < 0)
        set_int(fd, SOL_SOCKET, SO_RCVBUF, byte_count);
    if (set_int(fd, SOL_SOCKET, SO_SNDBUFFORCE, byte_count) < 0)
        set_int(fd, SOL_SOCKET, SO_SNDBUF, byte_count);
    return 0;
}

// The kernel answers twice what it was asked for (socket(7)).
int linux_receive_buffer(int fd) {
    int value = get_int(fd, SOL_SOCKET, SO_RCVBUF);
    return value < 0 ? value : value / 2;
}

int linux_send_buffer(int fd) {
    int value = get_int(fd, SOL_SOCKET, SO_SNDBUF);
    return value < 0 ? value : value / 2;
}

int linux_probe_path(int fd, bool ipv6) {
    return ipv6 ? set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE)
                : set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
}

int linux_enable_gro(int fd) { return set_int(fd, IPPROTO_UDP, UDP_GRO, 1); }

int linux_enable_packet_info(int fd, bool ipv6) {
    return ipv6 ? set_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
                : set_int(fd, IPPROTO_IP, IP_PKTINFO, 1);
}

int linux_supports_segments(int fd) { return get_int(fd, IPPROTO_UDP, UDP_SEGMENT); }

typedef union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct in6_pktinfo))];
} control_storage;

int linux_receive(int fd, uint8_t *storage, int slot_bytes, int slots, linux_received *received) {
    struct mmsghdr messages[LINUX_RECEIVE_SLOTS];
    struct iovec pieces[LINUX_RECEIVE_SLOTS];
    address_storage from[LINUX_RECEIVE_SLOTS];
    control_storage control[LINUX_RECEIVE_SLOTS];
    if (slots > LINUX_RECEIVE_SLOTS) slots = LINUX_RECEIVE_SLOTS;
    for (int index = 0; index < slots; index++) {
        pieces[index].iov_base = storage + (size_t)index * (size_t)slot_bytes;
        pieces[index].iov_len = (size_t)slot_bytes;
        messages[index].msg_hdr = (struct msghdr){
            .msg_name = &from[index],
            .msg_namelen = sizeof from[index],
            .msg_iov = &pieces[index],
            .msg_iovlen = 1,
            .msg_control = &control[index],
            .msg_controllen = sizeof control[index],
        };
        messages[index].msg_len = 0;
    }
    int count = RETRY(recvmmsg(fd, messages, (unsigned)slots, MSG_DONTWAIT, NULL));
    for (int index = 0; index < count; index++) {
        struct msghdr *header = &messages[index].msg_hdr;
        linux_received one = {
            .from = decode_address(header->msg_namelen > 0 ? &from[index].any : NULL),
            .byte_count = (int32_t)messages[index].msg_len,
            .segment_bytes = 0,
            .truncated = header->msg_flags & MSG_TRUNC,
        };
        for (struct cmsghdr *item = CMSG_FIRSTHDR(header); item; item = CMSG_NXTHDR(header, item)) {
            if (item->cmsg_level == IPPROTO_UDP && item->cmsg_type == UDP_GRO) {
                int size;
                memcpy(&size, CMSG_DATA(item), sizeof size);
                one.segment_bytes = size;
            } else if (item->cmsg_level == IPPROTO_IP && item->cmsg_type == IP_PKTINFO) {
                struct in_pktinfo info;
                memcpy(&info, CMSG_DATA(item), sizeof info);
                one.interface = (uint32_t)info.ipi_ifindex;
            } else if (item->cmsg_level == IPPROTO_IPV6 && item->cmsg_type == IPV6_PKTINFO) {
                struct in6_pktinfo info;
                memcpy(&info, CMSG_DATA(item), sizeof info);
                one.interface = info.ipi6_ifindex;
            }
        }
        received[index] = one;
    }
    return count;
}

int linux_send(int fd, bool ipv6, const uint8_t *storage, const linux_message *list, int count) {
    struct mmsghdr messages[LINUX_SEND_MESSAGES];
    struct iovec pieces[LINUX_SEND_MESSAGES];
    address_storage to[LINUX_SEND_MESSAGES];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(uint16_t))];
    } control[LINUX_SEND_MESSAGES];
    if (count > LINUX_SEND_MESSAGES) count = LINUX_SEND_MESSAGES;
    for (int index = 0; index < count; index++) {
        const linux_message *one = &list[index];
        socklen_t size = encode_address(one->to, ipv6, &to[index]);
        pieces[index].iov_base = (void *)(storage + one->offset);
        pieces[index].iov_len = (size_t)one->byte_count;
        struct msghdr *header = &messages[index].msg_hdr;
        *header = (struct msghdr){
            .msg_name = &to[index],
            .msg_namelen = size,
            .msg_iov = &pieces[index],
            .msg_iovlen = 1,
        };
        messages[index].msg_len = 0;
        if (one->segment_bytes > 0) {
            memset(&control[index], 0, sizeof control[index]);
            header->msg_control = &control[index];
            header->msg_controllen = sizeof control[index].bytes;
            struct cmsghdr *item = CMSG_FIRSTHDR(header);
            item->cmsg_level = IPPROTO_UDP;
            item->cmsg_type = UDP_SEGMENT;
            item->cmsg_len = CMSG_LEN(sizeof(uint16_t));
            uint16_t segment = (uint16_t)one->segment_bytes;
            memcpy(CMSG_DATA(item), &segment, sizeof segment);
        }
    }
    return RETRY(sendmmsg(fd, messages, (unsigned)count, MSG_DONTWAIT | MSG_NOSIGNAL));
}

// MARK: TCP, to measure beside

int linux_tcp_listen(linux_address address) {
    address_storage storage;
    socklen_t size = encode_address(address, false, &storage);
    int fd = RETRY(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) return fd;
    int result = RETRY(bind(fd, &storage.any, size));
    if (result >= 0) result = RETRY(listen(fd, 1));
    if (result >= 0) return fd;
    close(fd);
    return result;
}

int linux_tcp_connect(linux_address address, const char *congestion, int64_t timeout) {
    address_storage storage;
    socklen_t size = encode_address(address, false, &storage);
    int fd = RETRY(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd < 0) return fd;
    struct timeval time = {timeout / 1000000000, timeout / 1000 % 1000000};
    int result = RETRY(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time));
    if (result >= 0)
        result = RETRY(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion, strlen(congestion)));
    if (result >= 0) result = RETRY(connect(fd, &storage.any, size));
    if (result >= 0) return fd;
    close(fd);
    return result;
}

// MARK: Multicast, interfaces

int linux_multicast_prepare(int fd, bool ipv6) {
    int result;
    if (ipv6) {
        // Older kernels lack the option; then a foreign join may reach us, which is harmless.
        set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
        result = set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 1);
        return result < 0 ? result : set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
    }
    set_int(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
    result = set_int(fd, IPPROTO_IP, IP_MULTICAST_TTL, 1);
    return result < 0 ? result : set_int(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1);
}

static int membership(int fd, linux_address group, uint32_t interface, linux_address local, bool ipv6, bool join) {
    if (ipv6) {
        struct ipv6_mreq request = {.ipv6mr_interface = interface};
        store_big(request.ipv6mr_multiaddr.s6_addr, group.high);
        store_big(request.ipv6mr_multiaddr.s6_addr + 8, group.low);
        int name = join ? IPV6_ADD_MEMBERSHIP : IPV6_DROP_MEMBERSHIP;
        return RETRY(setsockopt(fd, IPPROTO_IPV6, name, &request, sizeof request));
    }
    struct ip_mreqn request = {
        .imr_multiaddr.s_addr = htonl((uint32_t)group.low),
        .imr_address.s_addr = htonl((uint32_t)local.low),
        .imr_ifindex = (int)interface,
    };
    int name = join ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP;
    return RETRY(setsockopt(fd, IPPROTO_IP, name, &request, sizeof request));
}

int linux_multicast_join(int fd, linux_address group, uint32_t interface, linux_address local, bool ipv6) {
    return membership(fd, group, interface, local, ipv6, true);
}

int linux_multicast_leave(int fd, linux_address group, uint32_t interface, linux_address local, bool ipv6) {
    return membership(fd, group, interface, local, ipv6, false);
}

int linux_multicast_interface(int fd, uint32_t interface, linux_address local, bool ipv6) {
    if (ipv6) return set_int(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)interface);
    struct ip_mreqn request = {
        .imr_address.s_addr = htonl((uint32_t)local.low),
        .imr_ifindex = (int)interface,
    };
    return RETRY(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof request));
}

static int leading_ones(const struct sockaddr *mask) {
    linux_address bits = decode_address(mask);
    if (mask && mask->sa_family == AF_INET) return __builtin_popcount((uint32_t)bits.low);
    return __builtin_popcountll(bits.high) + __builtin_popcountll(bits.low);
}

int linux_interfaces(linux_interface_address *out, int capacity) {
    struct ifaddrs *list = NULL;
    if (getifaddrs(&list) < 0) return -errno;
    int count = 0;
    for (struct ifaddrs *item = list; item; item = item->ifa_next) {
        if (item->ifa_addr == NULL) continue;
        int family = item->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        if (count < capacity) {
            linux_interface_address *one = &out[count];
            memset(one, 0, sizeof *one);
            strncpy(one->name, item->ifa_name, sizeof one->name - 1);
            one->index = if_nametoindex(item->ifa_name);
            one->up = (item->ifa_flags & IFF_UP) && (item->ifa_flags & IFF_RUNNING);
            one->loopback = item->ifa_flags & IFF_LOOPBACK;
            one->multicast = item->ifa_flags & IFF_MULTICAST;
            one->point_to_point = item->ifa_flags & IFF_POINTOPOINT;
            one->prefix_length = (uint8_t)leading_ones(item->ifa_netmask);
            one->address = decode_address(item->ifa_addr);
            if (family == AF_INET && (item->ifa_flags & IFF_BROADCAST))
                one->broadcast = decode_address(item->ifa_broadaddr);
        }
        count++;
    }
    freeifaddrs(list);
    return count;
}

// MARK: Unix sockets

static int unix_address(const char *path, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) >= sizeof address->sun_path) return -ENAMETOOLONG;
    strcpy(address->sun_path, path);
    return 0;
}

int linux_unix_listen(const char *path) {
    struct sockaddr_un address;
    int result = unix_address(path, &address);
    if (result < 0) return result;
    int fd = RETRY(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) return fd;
    // The mode set before bind is that of the new file, whatever the umask leaves of it.
    result = RETRY(fchmod(fd, 0600));
    if (result >= 0) result = RETRY(bind(fd, (struct sockaddr *)&address, sizeof address));
    if (result >= 0) result = RETRY(chmod(path, 0600));
    if (result >= 0) result = RETRY(listen(fd, 32));
    if (result < 0) {
        close(fd);
        return result;
    }
    return fd;
}

int linux_unix_connect(const char *path) {
    struct sockaddr_un address;
    int result = unix_address(path, &address);
    if (result < 0) return result;
    int fd = RETRY(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd < 0) return fd;
    result = RETRY(connect(fd, (struct sockaddr *)&address, sizeof address));
    if (result < 0) {
        close(fd);
        return result;
    }
    return fd;
}

int linux_unix_accept(int fd) {
    return RETRY(accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

static int peer(int fd, struct ucred *out) {
    socklen_t size = sizeof *out;
    return RETRY(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, out, &size));
}

int64_t linux_peer_user(int fd) {
    struct ucred other;
    int result = peer(fd, &other);
    return result < 0 ? result : (int64_t)other.uid;
}

int linux_peer_process(int fd) {
    struct ucred other;
    int result = peer(fd, &other);
    return result < 0 ? result : other.pid;
}

int linux_socket_pair(int *first, int *second) {
    int pair[2];
    int result = RETRY(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair));
    if (result < 0) return result;
    *first = pair[0];
    *second = pair[1];
    return 0;
}

int linux_set_nonblocking(int fd, bool nonblocking) {
    int flags = RETRY(fcntl(fd, F_GETFL));
    if (flags < 0) return flags;
    return RETRY(fcntl(fd, F_SETFL, nonblocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
}

int linux_receive_timeout(int fd, int64_t nanoseconds) {
    struct timeval limit = {
        .tv_sec = nanoseconds / 1000000000,
        .tv_usec = nanoseconds % 1000000000 / 1000,
    };
    // A time below a microsecond must not turn into "for ever".
    if (nanoseconds > 0 && limit.tv_sec == 0 && limit.tv_usec == 0) limit.tv_usec = 1;
    return RETRY(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
}

int64_t linux_read(int fd, uint8_t *bytes, int64_t count) {
    return RETRY(read(fd, bytes, (size_t)count));
}

int64_t linux_socket_write(int fd, const uint8_t *bytes, int64_t count) {
    return RETRY(send(fd, bytes, (size_t)count, MSG_NOSIGNAL));
}

// MARK: Files

int linux_open_directory(int directory, const char *path) {
    return RETRY(openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int linux_open_read(int directory, const char *path) {
    return RETRY(openat(directory, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

static int exactly_private(int fd) {
    int result = fd < 0 ? fd : RETRY(fchmod(fd, 0600));
    if (fd >= 0 && result < 0) close(fd);
    return result < 0 ? result : fd;
}

int linux_create_file(int directory, const char *path) {
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    return exactly_private(RETRY(openat(directory, path, flags, 0600)));
}

int linux_memory_file(void) { return RETRY(memfd_create("content", MFD_CLOEXEC)); }

int linux_temporary_file(const char *directory) {
    int fd = exactly_private(RETRY(open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)));
    if (fd != -EOPNOTSUPP && fd != -EISDIR && fd != -EINVAL) return fd;
    // File systems without files that have no name: it has one for a moment.
    char path[4096];
    if (snprintf(path, sizeof path, "%s/.content-XXXXXX", directory) >= (int)sizeof path) {
        return -ENAMETOOLONG;
    }
    fd = RETRY(mkostemp(path, O_CLOEXEC));
    if (fd >= 0) unlink(path);
    return exactly_private(fd);
}

int linux_open_lock(int directory, const char *path) {
    int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    return exactly_private(RETRY(openat(directory, path, flags, 0600)));
}

int linux_make_directory(int directory, const char *path) {
    return RETRY(mkdirat(directory, path, 0700));
}

static void decode_status(const struct stat *raw, linux_status *status) {
    *status = (linux_status){
        .regular = S_ISREG(raw->st_mode),
        .directory = S_ISDIR(raw->st_mode),
        .link = S_ISLNK(raw->st_mode),
        .owner = raw->st_uid,
        .mode = raw->st_mode & 07777,
        .byte_count = raw->st_size,
        .device = raw->st_dev,
        .inode = raw->st_ino,
        .modified_nanoseconds = (int64_t)raw->st_mtim.tv_sec * 1000000000 + raw->st_mtim.tv_nsec,
    };
}

int linux_status_of(int fd, linux_status *status) {
    struct stat raw;
    int result = RETRY(fstat(fd, &raw));
    if (result >= 0) decode_status(&raw, status);
    return result;
}

int linux_status_at(int directory, const char *path, linux_status *status) {
    struct stat raw;
    int result = RETRY(fstatat(directory, path, &raw, AT_SYMLINK_NOFOLLOW));
    if (result >= 0) decode_status(&raw, status);
    return result;
}

int64_t linux_file_write(int fd, const uint8_t *bytes, int64_t count) {
    return RETRY(write(fd, bytes, (size_t)count));
}

int64_t linux_read_at(int fd, uint8_t *bytes, int64_t count, int64_t offset) {
    return RETRY(pread(fd, bytes, (size_t)count, offset));
}

int64_t linux_write_at(int fd, const uint8_t *bytes, int64_t count, int64_t offset) {
    return RETRY(pwrite(fd, bytes, (size_t)count, offset));
}

int64_t linux_free_bytes(const char *path) {
    struct statvfs status;
    int result = RETRY(statvfs(path, &status));
    return result < 0 ? result : (int64_t)(status.f_bavail * status.f_frsize);
}

int linux_truncate(int fd, int64_t byte_count) { return RETRY(ftruncate(fd, byte_count)); }

int linux_rewind(int fd) {
    off_t result = RETRY(lseek(fd, 0, SEEK_SET));
    return result < 0 ? (int)result : 0;
}

int linux_sync(int fd) { return RETRY(fsync(fd)); }

int linux_rename(int directory, const char *from, const char *to, bool replace) {
    if (replace) return RETRY(renameat(directory, from, directory, to));
    int result = (int)RETRY(syscall(SYS_renameat2, directory, from, directory, to, RENAME_NOREPLACE));
    if (result != -EINVAL && result != -ENOSYS) return result;
    // File systems without the flag: a hard link does not overwrite either.
    result = RETRY(linkat(directory, from, directory, to, 0));
    if (result >= 0) RETRY(unlinkat(directory, from, 0));
    return result;
}

int linux_unlink(int directory, const char *path) { return RETRY(unlinkat(directory, path, 0)); }

int linux_remove_directory(int directory, const char *path) {
    return RETRY(unlinkat(directory, path, AT_REMOVEDIR));
}

int linux_lock(int fd) { return RETRY(flock(fd, LOCK_EX | LOCK_NB)); }
int linux_lock_waiting(int fd) { return RETRY(flock(fd, LOCK_EX)); }

int linux_list(int fd, void (*visit)(const char *name, void *context), void *context) {
    int copy = RETRY(openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (copy < 0) return copy;
    DIR *directory = fdopendir(copy);
    if (directory == NULL) {
        int code = errno;
        close(copy);
        return -code;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) visit(entry->d_name, context);
    }
    closedir(directory);
    return 0;
}

uint32_t linux_effective_user(void) { return geteuid(); }
