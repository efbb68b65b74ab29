import type { LeftOut } from "./approve-source.ts";
import type { OwnNetwork } from "./own-network.ts";
import type { UnixSocket } from "./unix-sockets.ts";

/** View of the file system for a contained program. All paths are absolute; one below another overrides it. */
export interface AgentView {
  /** Folders that it may write. It may read everything that is neither here nor hidden. */
  writable: readonly string[];
  /** Folder mounted as its `/tmp`. */
  tmp: string;
  /** Folder mounted as its `/dev/shm`, which is made; absent: it has no shared memory there. */
  shm?: string;
  /** Folders that appear empty and files that it cannot open, also where a folder around them is shown; missing ones are left out. */
  hidden: readonly string[];
  /** Files and folders that it may read where a new folder would cover them; missing ones are left out. */
  shown: readonly string[];
  /** Places of the host's own, which are shown and bound although they lie in a hidden one. No link leads to them. */
  own?: readonly string[];
  /** Real paths of the person's homes; absent: they are not looked at. */
  homes?: readonly string[];
  /** Real paths of places at home where agents keep their records. */
  records?: readonly string[];
  leftOut?(place: LeftOut): void;
  /** Takes the unix sockets that were open as the view was made: of these it hides those that the program would see. */
  onSockets?(sockets: SeenSockets): void;
  /** Places inside the writable folders that it may only read; missing ones are left out. */
  sealed?: readonly string[];
  /** Folders inside the writable ones that cannot be moved away. */
  held?: readonly string[];
  /** Links inside the writable folders that it can neither move, nor remove, nor replace; missing ones are left out. */
  links?: readonly HeldLink[];
  /** Places of the machine, or private ones, that it may write under another path; missing ones are left out. */
  bound?: readonly Bound[];
  /** `none`; `machine`: the machine's network; otherwise the program's own network. */
  network: "none" | "machine" | Pick<OwnNetwork, "enter">;
  /** Ports of this machine that it may connect to where it has no loopback of its own, as on macOS. */
  reach?: readonly number[];
  /** Folder for the filter of system calls, which the program cannot see; absent: it may make every call. */
  filterFolder?: string;
}

/** Unix sockets as a view has them. */
export interface SeenSockets {
  known: readonly UnixSocket[];
  /** Paths of those that would be seen in it. */
  visible(sockets: readonly UnixSocket[]): Promise<string[]>;
}

/** A file or folder mounted at another path. */
export interface Bound {
  from: string;
  at: string;
  /** Whether it is an empty folder of the session's own, so that there is nothing in it to hide. */
  isNew?: boolean;
  /** Whether the host made it for this session; otherwise it is a place of the person's, which must be approved. */
  isOwn?: boolean;
  /** Whether it may only be read; default: no. */
  isReadOnly?: boolean;
  /** Whether git borrows it: it is seen there although it may lie in the project. */
  isBorrowed?: boolean;
  /** Folder of the session's own, with `upper` and `work` in it, that takes what is written; the place itself is only read. */
  layer?: string;
}

/** A link that stays where it is. */
export interface HeldLink {
  at: string;
  /** Whether what it names is missing: then the program does not follow it, and so makes nothing through it. */
  isDangling: boolean;
}
