import { useConsole } from "../console-context.ts";
import { May } from "../may.tsx";
import { addressOf } from "../route.ts";

/** An inbox in which nothing waits: the good state, and it looks like one. */
export function EmptyInbox() {
  const { sessions } = useConsole();
  const running = sessions.all.value.filter(({ state }) => state === "running").length;
  return (
    <div class="empty calm">
      <svg class="calm-sea" viewBox="0 0 240 96" aria-hidden="true">
        <circle class="calm-sun" cx="176" cy="34" r="16" />
        <g class="calm-ship">
          <path class="calm-sail" d="M98 14v42l-28-6ZM102 22v34l24-6Z" />
          <path class="calm-hull" d="M66 60h66l-12 14H80Z" />
        </g>
        <path class="calm-wave" d="M0 76q15-9 30 0t30 0 30 0 30 0 30 0 30 0 30 0 30 0v20H0Z" />
      </svg>
      <p class="empty-title">Nothing waits for you</p>
      <p>
        {running === 0
          ? "No agent runs, and none of the last ones left anything to decide."
          : running === 1
          ? "One agent runs, and gets on without you."
          : `${running} agents run, and get on without you.`}{" "}
        Requests, refused grants, conflicts and changes that can run programs appear here the moment they come up.
      </p>
      <p>
        <May right="run">
          <a class="button" href={addressOf("start")}>Start a session</a>
        </May>{" "}
        <a class="button plain" href={addressOf("sessions")}>See all sessions</a>
      </p>
    </div>
  );
}
