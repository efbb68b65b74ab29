import type { UsageRow } from "../../../../../plugin-sdk/usage-row.ts";
import { useConsole } from "../console-context.ts";
import { useLoaded } from "../parts.tsx";
import { costText } from "./cost-text.ts";
import { forecastDays, forecastOf } from "./forecast.ts";
import { heightOf } from "./spend-sums.ts";

/** One sentence on this month: what it has cost, and where it leads at the pace of the last seven days. */
export function MonthLine({ currency }: { currency: string | null }) {
  const { api } = useConsole();
  const now = new Date();
  const query = { days: forecastDays(now), time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone };
  const [loaded] = useLoaded((signal) => api.get<{ rows: UsageRow[] }>("/v1/spend", query, signal), [query.days]);
  if (currency === null || loaded === undefined || "failed" in loaded) return null;
  const { month, soFar, end, unknown } = forecastOf(loaded.value.rows, { currency, now });
  if (heightOf(end) === 0) return null;
  return (
    <p class="month-line">
      <b>{month}</b> has cost {heightOf(soFar) === 0 ? "nothing" : costText(soFar, currency)} so far
      {heightOf(end) > heightOf(soFar) && (
        <>
          ; at the pace of the last 7 days it ends at <b>{costText(end, currency)}</b>
        </>
      )}
      .{unknown > 0 && ` Without ${unknown} ${unknown === 1 ? "session" : "sessions"} of unknown cost.`}
    </p>
  );
}
