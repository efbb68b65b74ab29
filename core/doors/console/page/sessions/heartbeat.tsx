const barWidth = 4;
const height = 16;

/** Events of the last ten minutes as bars, half a minute each. A session that says nothing has a flat line. */
export function Heartbeat({ of: beats }: { of: readonly number[] }) {
  // A burst must not flatten the rest.
  const most = Math.max(4, ...beats.map(Math.sqrt));
  const sum = beats.reduce((all, count) => all + count, 0);
  const text = `${sum.toLocaleString("en")} ${sum === 1 ? "event" : "events"} in the last 10 minutes`;
  return (
    <svg class="beats" viewBox={`0 0 ${beats.length * barWidth} ${height}`} role="img" aria-label={text}>
      <title>{text}</title>
      {beats.map((count, at) => {
        const high = count === 0 ? 1 : Math.max(2, Math.round(Math.sqrt(count) / most * height));
        return (
          <rect
            class={count === 0 ? "flat" : undefined}
            x={at * barWidth}
            y={height - high}
            width={barWidth - 1}
            height={high}
          />
        );
      })}
    </svg>
  );
}
