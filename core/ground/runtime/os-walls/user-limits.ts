/**
 * Lowers what one user may take of the kernel's inotify inside a user namespace of a session's own (user_namespaces(7),
 * `/proc/sys/user`): else one session takes all, and no program of the person may watch files any more. A quarter of the
 * machine's instances, 32 at most, and half of its watches.
 *
 * Arguments of a shell that becomes the command after them. In the namespace of the machine it changes nothing.
 * @param machine the user namespace of this process, as its link reads
 */
export function lowerUserLimits(machine: string): string[] {
  return ["/bin/sh", "-c", lower, "sh", machine];
}

const lower = `own=$(readlink /proc/self/ns/user)
if [ -n "$own" ] && [ "$own" != "$1" ]; then
  {
    # Read by cat: a shell reads single bytes, and these files give no more than one of them.
    instances=$(($(cat /proc/sys/fs/inotify/max_user_instances) / 4))
    [ "$instances" -le 32 ] || instances=32
    [ "$instances" -lt 1 ] || echo "$instances" > /proc/sys/user/max_inotify_instances
    watches=$(($(cat /proc/sys/fs/inotify/max_user_watches) / 2))
    [ "$watches" -lt 1 ] || echo "$watches" > /proc/sys/user/max_inotify_watches
  } 2> /dev/null
fi
shift
exec "$@"`;
