import { mkdir, writeFile } from "../../ground/platform/files/files.ts";
import { join } from "../../ground/platform/files/paths.ts";

/** Joins ssh to a place by way of the session's proxy, and shows the proxy's words of a refusal. */
const script = `# Bulkhead: ssh reaches granted hosts through the proxy of its session.
proxy=\${HTTPS_PROXY#http://}
place=\${proxy##*@}
host=$1
case $host in *:*) host="[$host]" ;; esac
exec 3<>"/dev/tcp/\${place%:*}/\${place##*:}" || exit 1
login=$(printf %s "\${proxy%@*}" | base64 | tr -d '\\n')
printf 'CONNECT %s:%s HTTP/1.1\\r\\nProxy-Authorization: Basic %s\\r\\n\\r\\n' "$host" "$2" "$login" >&3
IFS= read -r answer <&3
while IFS= read -r line <&3 && [ -n "\${line%$'\\r'}" ]; do :; done
case $answer in
  *' 200 '*) ;;
  *) cat <&3 >&2; exit 1 ;;
esac
exec 4<&0
cat <&4 >&3 &
cat <&3
kill $! 2>/dev/null
`;

/** Leads ssh through the proxy, by its settings in a private home. */
export async function writeSshWay(home: string): Promise<void> {
  const folder = join(home, ".ssh");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const config = `Host *\n  ProxyCommand bash ~/.ssh/through-proxy %h %p\n`;
  await Promise.all([
    writeFile(join(folder, "config"), config, { mode: 0o600 }),
    writeFile(join(folder, "through-proxy"), script, { mode: 0o600 }),
  ]);
}
