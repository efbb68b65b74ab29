/** A file or folder of a private git folder, or of what it borrows, mounted at another path. */
export interface GitMount {
  from: string;
  at: string;
  isReadOnly?: boolean;
  /** Whether the host made it for the session. */
  isOwn?: boolean;
  /** Whether it is of the person's repository. */
  isBorrowed?: boolean;
}

/** Mounts of private git folders over the real ones, as plain data for a view. */
export interface GitMounts {
  /** Places in which only these mounts count. */
  covered: string[];
  /** In the order in which they are made where two have one path. */
  bound: GitMount[];
  /** Folders that cannot be moved away. */
  held: string[];
  /** Places of the work tree that the repository's settings name as programs of git's, or as more settings. */
  sealed: string[];
  /** Places that are read where the system has no mounts. */
  shown: string[];
}
