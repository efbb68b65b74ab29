import { realpath } from "node:fs/promises";
import { readKernelFile } from "./kernel-file.ts";
import type { MissingWall } from "./os-wall.ts";

/** Why the system refuses bwrap its namespaces. */
interface Cause {
  /** Ends the sentence "bwrap is installed, but …". */
  why: string;
  /** Text that bwrap prints then. */
  prints: RegExp;
  /** Files of the machine of which one then holds this. */
  holds: Readonly<Record<string, RegExp>>;
  /** Lines for a shell, the narrowest first; or a sentence. */
  remedy(bwrap: string): string;
}

/** Certain causes come before likely ones. */
const causes: readonly Cause[] = [
  {
    why: "user.max_user_namespaces is 0, which forbids user namespaces",
    prints: /namespace/,
    holds: { "/proc/sys/user/max_user_namespaces": /^0$/m },
    remedy: () => "sudo sysctl -w user.max_user_namespaces=15000  # until the next boot",
  },
  {
    why: "kernel.unprivileged_userns_clone is 0, which forbids user namespaces to all but root",
    prints: /namespace/,
    holds: { "/proc/sys/kernel/unprivileged_userns_clone": /^0$/m },
    remedy: () => "sudo sysctl -w kernel.unprivileged_userns_clone=1  # until the next boot",
  },
  {
    // Ubuntu from 23.10 on: a program without a profile gets no user namespace, or one in which it has no rights.
    why: "AppArmor refuses it a user namespace",
    prints: /[ug]id map|RTM_NEW|namespace failed: Permission denied/,
    holds: { "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": /^1$/m },
    remedy: (bwrap) =>
      `echo 'abi <abi/4.0>, profile bwrap ${bwrap} flags=(unconfined) { userns, }' | sudo tee /etc/apparmor.d/bwrap` +
      " && sudo apparmor_parser -r /etc/apparmor.d/bwrap  # allows it to bwrap alone\n" +
      "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0  # allows it to every program, until the next boot",
  },
  {
    why: "the container or service around this host may not make namespaces",
    prints: /permission|not permitted/i,
    // Docker and Podman leave a file; another container, or a service, shows by its filter of system calls.
    holds: { "/.dockerenv": /^/, "/run/.containerenv": /^/, "/proc/self/status": /^Seccomp:\s+2$/m },
    remedy: () =>
      "Start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined " +
      "--security-opt systempaths=unconfined.",
  },
];

/**
 * Says why bwrap is there and does not work, and what helps. Every text about it comes from here.
 * @param printed what bwrap printed
 * @param file where it is
 */
export async function refusedBubblewrap(printed: string, file: string): Promise<MissingWall> {
  const cause = await causeOf(printed);
  return {
    active: false,
    refused: true,
    reason: `bwrap is installed, but ${cause?.why ?? "does not work here"}: "${printed}".`,
    // AppArmor knows a program by its real path.
    remedy: cause?.remedy(await realpath(file).catch(() => file)) ??
      "See what it lacks: bwrap --unshare-user --unshare-net --ro-bind / / true",
  };
}

async function causeOf(printed: string): Promise<Cause | null> {
  for (const cause of causes) {
    if (!cause.prints.test(printed)) continue;
    for (const [file, wanted] of Object.entries(cause.holds)) {
      const text = await readKernelFile(file);
      if (text !== null && wanted.test(text)) return cause;
    }
  }
  return null;
}
