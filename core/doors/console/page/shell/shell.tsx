import { useEffect, useRef, useState } from "preact/hooks";
import { type Console, useConsole } from "../console-context.ts";
import { paletteKey, useKeys, usePaletteKey } from "../keys.ts";
import { useBadge } from "./notifications.tsx";
import { Agents } from "../agents/agents.tsx";
import { NeedsYou } from "../needs/needs-you.tsx";
import { Command, Dialog, Empty, Screen, Since } from "../parts.tsx";
import { reviewKeys } from "../review/key-names.ts";
import { addressOf, goTo, screens } from "../route.ts";
import { History } from "../history/history.tsx";
import { Session } from "../screens/session.tsx";
import { Sessions } from "../sessions/sessions.tsx";
import { Start } from "../screens/start.tsx";
import { Walls } from "../walls/walls.tsx";
import { Text } from "../text.tsx";
import { Later, palette, reviewScreens, spendScreen } from "./later.tsx";
import { Navigation } from "./navigation.tsx";
import { NoticeBar } from "./notice-bar.tsx";
import { dropKey, isOver, overText } from "./page-key.ts";
import { SignedOut } from "./signed-out.tsx";

/** The page around every screen: navigation, the state of the connection, notices. */
export function Shell() {
  const found = useConsole();
  const { route, live, key } = found;
  const [asked, setAsked] = useState<"keys" | "palette" | null>(null);
  const main = useRef<HTMLElement>(null);
  useBadge(found);
  useGoKeys(() => setAsked("keys"));
  usePaletteKey(() => setAsked("palette"));
  const { screen, words } = route.value;
  const place = `${screen}/${words[0] ?? ""}`;
  useEffect(() => {
    main.current?.scrollTo(0, 0);
  }, [place]);
  const line = live.line.value;
  useEffect(() => {
    if (line.state === "refused") dropKey();
  }, [line.state]);
  if (line.state === "refused") return <SignedOut why={isOver(key) ? overText(key) : line.why} />;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the content
      </a>
      <Navigation place={place} screen={screen} find={() => setAsked("palette")} help={() => setAsked("keys")} />
      <main id="main" ref={main} tabIndex={-1}>
        {line.state === "lost" && (
          <div class="offline" role="alert">
            <b>The host is not reachable</b> for <Since at={line.since.toISOString()} />. {line.why}{" "}
            This page shows that moment. It continues by itself, and no event is lost.
          </div>
        )}
        <CurrentScreen found={found} />
      </main>
      <NoticeBar place={place} />
      <AddressDialog />
      {asked === "palette" && <PaletteDialog close={() => setAsked(null)} />}
      {asked === "keys" && <Help close={() => setAsked(null)} />}
    </div>
  );
}

function CurrentScreen({ found: { route, canRun } }: { found: Console }) {
  const { screen, words: [first, second] } = route.value;
  switch (screen) {
    case "needs-you":
      return <NeedsYou />;
    case "sessions":
      return first === undefined ? <Sessions /> : <Session key={first} id={first} seq={numberOf(second)} />;
    case "agents":
      return <Agents />;
    case "start":
      return canRun ? <Start key={first ?? ""} as={first} /> : <ReadOnly />;
    case "review":
      return (
        <Later load={reviewScreens}>
          {({ Review, ReviewList }) => first === undefined ? <ReviewList /> : <Review key={first} id={first} />}
        </Later>
      );
    case "compare":
      return (
        <Later load={reviewScreens}>
          {({ Compare, CompareList }) => first === undefined ? <CompareList /> : <Compare key={first} id={first} />}
        </Later>
      );
    case "walls":
      return <Walls words={route.value.words} />;
    case "history":
      return <History words={first ?? ""} />;
    case "spend":
      return <Later key="spend" load={spendScreen}>{({ Spend }) => <Spend />}</Later>;
    default:
      return (
        <p>
          There is no such screen. <a href={addressOf("needs-you")}>Needs you</a>
        </p>
      );
  }
}

function PaletteDialog({ close }: { close: () => void }) {
  return (
    <Dialog title="Go to" close={close}>
      <Later load={palette}>{({ Palette }) => <Palette close={close} />}</Later>
    </Dialog>
  );
}

/** The place of a form that this page may not send. */
function ReadOnly() {
  return (
    <Screen title="Start a session">
      <Empty title="This page can look, and change nothing">
        <p>
          For a page that starts sessions, run: <Command text="bulkhead console" />
        </p>
      </Empty>
    </Screen>
  );
}

function numberOf(word: string | undefined): number | null {
  return word !== undefined && /^[1-9]\d{0,14}$/.test(word) ? Number(word) : null;
}

/** `g` and a letter go to a screen. */
function useGoKeys(help: () => void): void {
  const [isGoing, setIsGoing] = useState(false);
  useEffect(() => {
    if (!isGoing) return;
    const timer = setTimeout(() => setIsGoing(false), 1500);
    return () => clearTimeout(timer);
  }, [isGoing]);
  const go = Object.fromEntries(screens.map(({ name, key }) => [key, () => (setIsGoing(false), goTo(name))]));
  useKeys({ "?": help, ...(isGoing ? go : { g: () => setIsGoing(true) }) }, { first: true });
}

/** Shows an address that was clicked, whole, before it is opened. */
function AddressDialog() {
  const { address } = useConsole();
  const url = address.value;
  if (url === null) return null;
  const close = () => (address.value = null);
  const open = () => (globalThis.open(url, "_blank", "noopener,noreferrer"), close());
  const host = URL.canParse(url) ? new URL(url).host : null;
  return (
    <Dialog title="Open this address?" close={close}>
      <p>
        An agent wrote it. It leads to{" "}
        <b>
          <Text of={host ?? "an unknown host"} />
        </b>:
      </p>
      <p class="whole-address">
        <Text of={url} />
      </p>
      <div class="dialog-actions">
        <button type="button" autofocus onClick={close}>Stay here</button>
        {host !== null && <button type="button" onClick={open}>Open in a new tab</button>}
      </div>
    </Dialog>
  );
}

function Help({ close }: { close: () => void }) {
  const keys = [
    [paletteKey, "go to a screen or a session, or do something, by its words"],
    ["g, then a letter", screens.map(({ title, key }) => `${key} ${title}`).join(", ")],
    ["j, k", "next and previous in a list"],
    ["Enter", "open what has the focus"],
    ["1 to 9", "answer with this choice"],
    ["x, a", "select one, select all"],
    ["o", "open the session of a request"],
    ["m", "write to the agent of a session"],
    ["f", "in a session: show another kind of rows"],
    ["n, i, d", "in a session: go to the next failure, edit, denial"],
    ...reviewKeys,
    ["/", "search the sessions; in a session: find in all of it"],
    ["e", "in a session: show the whole event under the pointer"],
    ["+", "start a session"],
    ["Escape", "back, or close"],
  ] as const;
  // The list has the focus: arrows scroll it.
  return (
    <Dialog title="Keys" close={close}>
      <dl class="facts keys" tabIndex={0} autofocus>
        {keys.map(([key, text]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
      <div class="dialog-actions">
        <button type="button" onClick={close}>Close</button>
      </div>
    </Dialog>
  );
}
