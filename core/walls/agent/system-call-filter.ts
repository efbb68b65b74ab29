import { arch } from "node:process";

/** Numbers of system calls, and the kernel's name for the machine (linux/audit.h). */
interface Machine {
  audit: number;
  calls: Readonly<Record<CallName, number>>;
}

type CallName = (typeof refused)[number] | "clone" | "clone3" | "ioctl" | "socket" | "unshare";

/**
 * Calls that no agent needs: they look into other processes, change what is mounted, load code into the kernel, read
 * keys of the session's user, or go round this filter (io_uring opens sockets by itself).
 */
const refused = [
  "acct",
  "add_key",
  "bpf",
  "chroot",
  "delete_module",
  "fanotify_init",
  "finit_module",
  "fsconfig",
  "fsmount",
  "fsopen",
  "fspick",
  "init_module",
  "io_uring_enter",
  "io_uring_register",
  "io_uring_setup",
  "kcmp",
  "kexec_file_load",
  "kexec_load",
  "keyctl",
  "lookup_dcookie",
  "mount",
  "mount_setattr",
  "move_mount",
  "name_to_handle_at",
  "open_by_handle_at",
  "open_tree",
  "open_tree_attr",
  "perf_event_open",
  "pidfd_getfd",
  "pivot_root",
  "process_vm_readv",
  "process_vm_writev",
  "ptrace",
  "quotactl",
  "reboot",
  "request_key",
  "setns",
  "swapoff",
  "swapon",
  "syslog",
  "umount2",
  "userfaultfd",
] as const;

/** From 424 on the numbers are the same on all machines. */
const shared = {
  clone3: 435,
  fsconfig: 431,
  fsmount: 432,
  fsopen: 430,
  fspick: 433,
  io_uring_enter: 426,
  io_uring_register: 427,
  io_uring_setup: 425,
  mount_setattr: 442,
  move_mount: 429,
  open_tree: 428,
  open_tree_attr: 467,
  pidfd_getfd: 438,
};

/** arch/x86/entry/syscalls/syscall_64.tbl, and include/uapi/asm-generic/unistd.h for arm64. */
const machines: Readonly<Record<string, Machine>> = {
  x64: {
    audit: 0xc000003e,
    calls: {
      ...shared,
      acct: 163,
      add_key: 248,
      bpf: 321,
      chroot: 161,
      clone: 56,
      delete_module: 176,
      fanotify_init: 300,
      finit_module: 313,
      init_module: 175,
      ioctl: 16,
      kcmp: 312,
      kexec_file_load: 320,
      kexec_load: 246,
      keyctl: 250,
      lookup_dcookie: 212,
      mount: 165,
      name_to_handle_at: 303,
      open_by_handle_at: 304,
      perf_event_open: 298,
      pivot_root: 155,
      process_vm_readv: 310,
      process_vm_writev: 311,
      ptrace: 101,
      quotactl: 179,
      reboot: 169,
      request_key: 249,
      setns: 308,
      socket: 41,
      swapoff: 168,
      swapon: 167,
      syslog: 103,
      umount2: 166,
      unshare: 272,
      userfaultfd: 323,
    },
  },
  arm64: {
    audit: 0xc00000b7,
    calls: {
      ...shared,
      acct: 89,
      add_key: 217,
      bpf: 280,
      chroot: 51,
      clone: 220,
      delete_module: 106,
      fanotify_init: 262,
      finit_module: 273,
      init_module: 105,
      ioctl: 29,
      kcmp: 272,
      kexec_file_load: 294,
      kexec_load: 104,
      keyctl: 219,
      lookup_dcookie: 18,
      mount: 40,
      name_to_handle_at: 264,
      open_by_handle_at: 265,
      perf_event_open: 241,
      pivot_root: 41,
      process_vm_readv: 270,
      process_vm_writev: 271,
      ptrace: 117,
      quotactl: 60,
      reboot: 142,
      request_key: 218,
      setns: 268,
      socket: 198,
      swapoff: 225,
      swapon: 224,
      syslog: 116,
      umount2: 39,
      unshare: 97,
      userfaultfd: 282,
    },
  },
};

/** Offsets in what a filter is given (linux/seccomp.h, struct seccomp_data); arguments are 8 bytes, the low half first. */
const callAt = 0;
const machineAt = 4;
const argumentAt = (index: number): number => 16 + 8 * index;

/** Instructions of a filter (linux/bpf_common.h). */
const load = 0x20;
const and = 0x54;
const jumpIfEqual = 0x15;
const jumpIfAtLeast = 0x35;
const jumpIfAny = 0x45;
const answer = 0x06;

const allow = 0x7fff0000;
const end = 0x80000000;
const fail = (errno: number): number => 0x00050000 | errno;
const notPermitted = fail(1);
const missing = fail(38);
const noSuchFamily = fail(97);

/** Unix, IPv4, IPv6 and netlink, by which programs list their network interfaces. */
const families = [1, 2, 10, 16];
const netlink = 16;
/** SOCK_RAW and SOCK_PACKET, below the flags of a socket's type. */
const rawTypes = [3, 10];
const typeMask = 0xf;
/** CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET (linux/sched.h). */
const namespaces = 0x80 | 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000;
/** Of clone() the lowest byte is a signal. */
const namespacesOfClone = namespaces & ~0xff;
/** Puts characters into a terminal's input (ioctl_tty(2)): TIOCSTI, and TIOCLINUX, which can paste. */
const terminalInput = [0x5412, 0x541c];

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/**
 * A seccomp filter for a contained agent, as `bwrap --seccomp` reads it: without new namespaces, raw and unusual
 * sockets, tracing, keys, mounts and input for terminals. Null on a machine whose calls are not known here.
 * https://docs.kernel.org/userspace-api/seccomp_filter.html
 */
export function systemCallFilter(machine: string = arch): Uint8Array | null {
  const known = machines[machine];
  if (known === undefined) return null;
  const { calls } = known;
  return encode([
    // A program for another machine has other numbers; such a one is ended.
    [load, 0, 0, machineAt],
    [jumpIfEqual, 1, 0, known.audit],
    [answer, 0, 0, end],
    [load, 0, 0, callAt],
    // The x32 calls of x64 are the same once more.
    [jumpIfAtLeast, 0, 1, 0x40000000],
    [answer, 0, 0, missing],
    ...refused.flatMap((name) => whenCalled(calls[name], [[answer, 0, 0, notPermitted]])),
    // Its flags lie in memory, which a filter cannot read. Programs then use clone().
    ...whenCalled(calls.clone3, [[answer, 0, 0, missing]]),
    ...whenCalled(calls.clone, withoutFlags(namespacesOfClone)),
    ...whenCalled(calls.unshare, withoutFlags(namespaces)),
    ...whenCalled(calls.ioctl, [
      [load, 0, 0, argumentAt(1)],
      ...terminalInput.flatMap((command) => whenCalled(command, [[answer, 0, 0, notPermitted]])),
      [answer, 0, 0, allow],
    ]),
    ...whenCalled(calls.socket, [
      [load, 0, 0, argumentAt(0)],
      ...families.map((family, at): Instruction => [jumpIfEqual, families.length - at, 0, family]),
      [answer, 0, 0, noSuchFamily],
      // Every socket of netlink may be a raw one.
      [jumpIfEqual, 0, 1, netlink],
      [answer, 0, 0, allow],
      [load, 0, 0, argumentAt(1)],
      [and, 0, 0, typeMask],
      ...rawTypes.flatMap((type) => whenCalled(type, [[answer, 0, 0, notPermitted]])),
      [answer, 0, 0, allow],
    ]),
    [answer, 0, 0, allow],
  ]);
}

/** Instructions for one value that was loaded; they end with an answer. */
function whenCalled(value: number, body: readonly Instruction[]): Instruction[] {
  return [[jumpIfEqual, 0, body.length, value], ...body];
}

function withoutFlags(flags: number): Instruction[] {
  return [
    [load, 0, 0, argumentAt(0)],
    [jumpIfAny, 0, 1, flags],
    [answer, 0, 0, notPermitted],
    [answer, 0, 0, allow],
  ];
}

/** struct sock_filter, little-endian as both machines are. */
function encode(instructions: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(instructions.length * 8));
  instructions.forEach(([code, ifTrue, ifFalse, value], at) => {
    bytes.setUint16(at * 8, code, true);
    bytes.setUint8(at * 8 + 2, ifTrue);
    bytes.setUint8(at * 8 + 3, ifFalse);
    bytes.setUint32(at * 8 + 4, value >>> 0, true);
  });
  return new Uint8Array(bytes.buffer);
}
