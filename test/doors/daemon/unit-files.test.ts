import { expect, test } from "vitest";
import { launchdPlist, systemdUnit } from "../../../core/doors/daemon/unit-files.ts";

const options = {
  command: ["/opt/my node/bin/node", "/srv/a$b/100%/cli.js", "up", '--config="x"\\y'],
  workdir: "/home/ann/pro ject%",
  env: { PATH: "/usr/bin:/bin", GREETING: 'say "hi" & <go> $HOME %h' },
  envFile: "/home/ann/.config/100%/daemon.env",
  stopMs: 35_500,
};

test("systemdUnit quotes words, doubles $ in the command and % everywhere", () => {
  const lines = systemdUnit(options).split("\n");
  expect(lines).toContain(
    'ExecStart="/opt/my node/bin/node" "/srv/a$$b/100%%/cli.js" "up" "--config=\\"x\\"\\\\y"',
  );
  expect(lines).toContain("WorkingDirectory=/home/ann/pro ject%%");
  expect(lines).toContain('Environment="GREETING=say \\"hi\\" & <go> $HOME %%h"');
  expect(lines).toContain("ExecReload=/bin/kill -HUP $MAINPID");
  expect(lines).toContain("EnvironmentFile=-/home/ann/.config/100%%/daemon.env");
  expect(lines).toContain("TimeoutStopSec=36");
  expect(lines).toContain("Restart=on-failure");
  expect(lines.filter((line) => /^\[.*\]$/.test(line))).toEqual(["[Unit]", "[Service]", "[Install]"]);
});

test("launchdPlist escapes what XML would read", () => {
  const text = launchdPlist(options);
  expect(text).toContain('<string>say "hi" &amp; &lt;go&gt; $HOME %h</string>');
  expect(text).toContain("<string>/srv/a$b/100%/cli.js</string>");
  expect(text).toContain("<key>ExitTimeOut</key>\n  <integer>36</integer>");
  expect(text).toContain("<key>Umask</key>\n  <integer>63</integer>");
  expect(text.match(/<dict>/g)?.length).toBe(text.match(/<\/dict>/g)?.length);
});

test("a variable with a line break stays one line of the unit", () => {
  const lines = systemdUnit({ ...options, env: { A: "one\nExecStart=/bin/false" } }).split("\n");
  expect(lines.filter((line) => line.startsWith("ExecStart="))).toHaveLength(1);
});
