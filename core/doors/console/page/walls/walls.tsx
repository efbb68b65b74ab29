import { Screen } from "../parts.tsx";
import { addressOf } from "../route.ts";
import { BrokerCalls } from "./broker-calls.tsx";
import { Denials } from "./denials.tsx";
import { Machine } from "./machine.tsx";
import { Plugins } from "./plugins.tsx";

const tabs = [
  { name: "plugins", title: "Plugins" },
  { name: "denials", title: "Denials" },
  { name: "calls", title: "Calls" },
  { name: "machine", title: "This machine" },
] as const;

type Tab = (typeof tabs)[number]["name"];

/** Permissions of plugins, what was refused, calls of the broker, and the walls of this machine, each at an address. */
export function Walls({ words: [first, second] }: { words: readonly string[] }) {
  const tab = tabs.find(({ name }) => name === first)?.name;
  // An address with a plugin alone is older than the tabs.
  const plugin = tab === undefined ? first : tab === "plugins" ? second : undefined;
  return (
    <Screen title="Walls" lead="What each plugin may do, what it was refused, and what holds it">
      <nav class="tabs" aria-label="Walls">
        {tabs.map(({ name, title }) => (
          <a href={addressOf("walls", name)} aria-current={name === (tab ?? "plugins") ? "page" : undefined}>{title}</a>
        ))}
      </nav>
      <TabOf name={tab ?? "plugins"} plugin={plugin ?? null} />
    </Screen>
  );
}

function TabOf({ name, plugin }: { name: Tab; plugin: string | null }) {
  switch (name) {
    case "plugins":
      return <Plugins open={plugin} />;
    case "denials":
      return <Denials />;
    case "calls":
      return <BrokerCalls />;
    case "machine":
      return <Machine />;
  }
}
