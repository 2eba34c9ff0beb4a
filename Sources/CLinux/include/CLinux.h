// What Linux offers and Swift's Glibc module does not, as plain functions over plain structs.
//
// Every function that can fail answers a value >= 0, or the negated errno; `EINTR` is retried
// here. No header below needs _GNU_SOURCE: only CLinux.c defines it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// MARK: Clock, process

/// Nanoseconds of CLOCK_BOOTTIME.
int64_t linux_clock(void);
/// Seconds of CLOCK_REALTIME since 1970.
int64_t linux_unix_time(void);
/// Writes the text of an errno, without a final zero; answers its length.
int linux_error_text(int code, char *buffer, int capacity);
/// Names the calling thread; at most 15 bytes are kept.
void linux_thread_name(const char *name);
/// RLIMIT_CORE 0.
int linux_forbid_core(void);
/// PR_SET_DUMPABLE 0: no ptrace by others of the same user, no core.
int linux_forbid_ptrace(void);
/// PR_SET_PDEATHSIG SIGKILL; -ESRCH unless `parent` still is the parent.
int linux_end_with_parent(int parent);
/// The value of PR_GET_DUMPABLE.
int linux_is_dumpable(void);
/// Bytes that this process has taken from its heap and not given back.
uint64_t linux_heap_bytes(void);
/// From now on each piece of memory of so many bytes or more is a mapping of its own (M_MMAP_THRESHOLD).
void linux_map_above(int byte_count);

// MARK: epoll, eventfd, timerfd

/// What epoll reports about one descriptor.
typedef struct {
    uint64_t token;
    bool readable, writable, closed;
} linux_event;

int linux_epoll_create(void);
int linux_epoll_add(int epoll, int fd, bool readable, bool writable, uint64_t token);
int linux_epoll_modify(int epoll, int fd, bool readable, bool writable, uint64_t token);
int linux_epoll_remove(int epoll, int fd);
/// Waits for events; timeout in milliseconds, negative for ever. Answers their number.
int linux_epoll_wait(int epoll, linux_event *events, int capacity, int timeout);

int linux_eventfd_create(void);
int linux_eventfd_signal(int fd);
int linux_eventfd_drain(int fd);

/// A timer of CLOCK_BOOTTIME, which also runs out while the machine sleeps.
int linux_timer_create(void);
/// Arms the timer at an absolute time in nanoseconds; 0 disarms it. Forgets an expiry not read.
int linux_timer_arm(int fd, int64_t nanoseconds);

int linux_close(int fd);

/// Moves the calling thread into the network namespace at `path`, as in /run/netns/NAME.
int linux_enter_network(const char *path);
/// A descriptor of the calling thread's network namespace.
int linux_own_network(void);
/// Moves the calling thread into the network namespace of a descriptor.
int linux_set_network(int fd);
/// A descriptor of a new network namespace; the calling thread stays where it was.
int linux_new_network(void);

enum { LINUX_WAIT_MAXIMUM = 128 };

/// Waits until one of up to LINUX_WAIT_MAXIMUM descriptors is readable; negative waits for ever.
///
/// Answers how many are, and sets `ready` of each.
int linux_wait(const int *fds, bool *ready, int count, int64_t nanoseconds);

// MARK: Links of a laboratory

/// A non-blocking socket for the frames that come in by an interface, and that leave by it.
///
/// Each is read and written behind a `struct virtio_net_hdr` of 10 bytes.
int linux_packet_socket(const char *interface);

/// What the root queue of an interface holds and did.
typedef struct {
    uint64_t bytes;
    uint32_t backlog, drops;
} linux_queue;

/// A socket that asks about the network namespace it is made in (NETLINK_ROUTE).
int linux_route_socket(void);
/// Reads the root queue of an interface by a socket of `linux_route_socket`.
int linux_queue_status(int fd, const char *interface, linux_queue *queue);

// MARK: UDP

/// An address as two big-endian words, IPv4 mapped (::ffff:a.b.c.d), and a port.
typedef struct {
    uint64_t high, low;
    uint32_t scope;
    uint16_t port;
} linux_address;

/// One received message: several datagrams of `segment_bytes` each if the kernel coalesced them.
typedef struct {
    linux_address from;
    uint32_t interface;
    int32_t byte_count;
    int32_t segment_bytes;
    bool truncated;
} linux_received;

/// One message to send: several datagrams of `segment_bytes` if that is not zero.
typedef struct {
    linux_address to;
    int64_t offset;
    int32_t byte_count;
    int32_t segment_bytes;
} linux_message;

/// A non-blocking UDP socket of one family (an IPv6 socket takes IPv6 only).
int linux_udp_socket(bool ipv6);
int linux_bind(int fd, linux_address address, bool ipv6);
int linux_local_port(int fd);
int linux_reuse_address(int fd);
int linux_allow_broadcast(int fd);
/// Asks for socket buffers; the sizes granted can be read back.
int linux_set_buffers(int fd, int byte_count);
int linux_receive_buffer(int fd);
int linux_send_buffer(int fd);
/// Sets "don't fragment" and ignores the kernel's path MTU, which transport finds itself.
int linux_probe_path(int fd, bool ipv6);
int linux_enable_gro(int fd);
int linux_enable_packet_info(int fd, bool ipv6);
/// Whether the kernel knows UDP_SEGMENT.
int linux_supports_segments(int fd);

enum { LINUX_RECEIVE_SLOTS = 16, LINUX_SEND_MESSAGES = 32 };

/// Receives up to `slots` messages into slots of `slot_bytes` each (recvmmsg, never waits).
int linux_receive(int fd, uint8_t *storage, int slot_bytes, int slots, linux_received *received);
/// Sends up to LINUX_SEND_MESSAGES messages (sendmmsg, never waits). Answers how many went out.
int linux_send(int fd, bool ipv6, const uint8_t *storage, const linux_message *messages, int count);

// MARK: TCP, to measure beside

/// A non-blocking socket of IPv4 that takes connections.
int linux_tcp_listen(linux_address address);
/// A blocking connection by IPv4 under the congestion control of that name.
///
/// Connecting and each write wait so many nanoseconds at most.
int linux_tcp_connect(linux_address address, const char *congestion, int64_t timeout);

// MARK: Multicast, interfaces

/// Only groups this socket itself joined; hop limit 1; loop on.
int linux_multicast_prepare(int fd, bool ipv6);
int linux_multicast_join(int fd, linux_address group, uint32_t interface, linux_address local, bool ipv6);
int linux_multicast_leave(int fd, linux_address group, uint32_t interface, linux_address local, bool ipv6);
/// The interface that multicast leaves by.
int linux_multicast_interface(int fd, uint32_t interface, linux_address local, bool ipv6);

/// One address of one interface; broadcast is all zero where there is none.
typedef struct {
    char name[16];
    uint32_t index;
    bool up, loopback, multicast, point_to_point;
    uint8_t prefix_length;
    linux_address address, broadcast;
} linux_interface_address;

/// Lists addresses of interfaces; answers their full number, which may be above `capacity`.
int linux_interfaces(linux_interface_address *out, int capacity);

// MARK: Unix sockets

/// A listening stream socket at `path` (0600); non-blocking.
int linux_unix_listen(const char *path);
/// A stream socket connected to `path`; blocking.
int linux_unix_connect(const char *path);
/// The next connection, non-blocking; -EAGAIN if there is none.
int linux_unix_accept(int fd);
/// The effective user at the other end (SO_PEERCRED).
int64_t linux_peer_user(int fd);
/// The process at the other end (SO_PEERCRED).
int linux_peer_process(int fd);
int linux_socket_pair(int *first, int *second);
int linux_set_nonblocking(int fd, bool nonblocking);
/// A time-out for reads of a blocking socket; zero waits for ever.
int linux_receive_timeout(int fd, int64_t nanoseconds);
int64_t linux_read(int fd, uint8_t *bytes, int64_t count);
/// Never raises SIGPIPE.
int64_t linux_socket_write(int fd, const uint8_t *bytes, int64_t count);

// MARK: Files

typedef struct {
    bool regular, directory, link;
    uint32_t owner, mode;
    int64_t byte_count;
    uint64_t device, inode;
    int64_t modified_nanoseconds;
} linux_status;

/// LINUX_AT_CWD as a directory means: relative to the working directory.
enum { LINUX_AT_CWD = -100 };

int linux_open_directory(int directory, const char *path);
/// Opens for reading; never follows a link in the last component, never blocks on a FIFO.
int linux_open_read(int directory, const char *path);
/// Creates a new file (O_EXCL, O_NOFOLLOW) with exactly mode 0600.
int linux_create_file(int directory, const char *path);
/// A new file that is in memory alone.
int linux_memory_file(void);
/// Opens a new file without a name in a directory, for reading and writing, with exactly mode 0600.
int linux_temporary_file(const char *directory);
/// Opens or creates a file to lock, mode 0600, following no link.
int linux_open_lock(int directory, const char *path);
int linux_make_directory(int directory, const char *path);
int linux_status_of(int fd, linux_status *status);
int linux_status_at(int directory, const char *path, linux_status *status);
int64_t linux_file_write(int fd, const uint8_t *bytes, int64_t count);
/// Reads and writes at an offset; may do less than asked for.
int64_t linux_read_at(int fd, uint8_t *bytes, int64_t count, int64_t offset);
int64_t linux_write_at(int fd, const uint8_t *bytes, int64_t count, int64_t offset);
/// Bytes that this user may still write to the file system at `path`.
int64_t linux_free_bytes(const char *path);
int linux_truncate(int fd, int64_t byte_count);
int linux_rewind(int fd);
int linux_sync(int fd);
/// Renames; with `replace` false an existing target is -EEXIST and stays (RENAME_NOREPLACE).
int linux_rename(int directory, const char *from, const char *to, bool replace);
int linux_unlink(int directory, const char *path);
int linux_remove_directory(int directory, const char *path);
/// Takes the exclusive lock (flock) or answers -EWOULDBLOCK.
int linux_lock(int fd);
/// Takes the exclusive lock, waiting for it.
int linux_lock_waiting(int fd);
/// Calls `visit` with each name of a directory but "." and "..".
int linux_list(int fd, void (*visit)(const char *name, void *context), void *context);
uint32_t linux_effective_user(void);
