import { expect, test } from "vitest";
import { toPrometheusText } from "../../../core/ground/log/prometheus-text.ts";

test("toPrometheusText writes each signal with its help, its type and a line for each value", () => {
  expect(toPrometheusText([
    {
      name: "bulkhead_a_total",
      help: "What it is.",
      type: "counter",
      samples: [{ labels: { adapter: "x", code: "crash" }, value: 2 }, { labels: { adapter: "y" }, value: 1e-7 }],
    },
    { name: "bulkhead_b", help: "None.", type: "gauge", samples: [] },
    { name: "bulkhead_c", help: "One.", type: "gauge", samples: [{ labels: {}, value: 0 }] },
  ])).toBe(`# HELP bulkhead_a_total What it is.
# TYPE bulkhead_a_total counter
bulkhead_a_total{adapter="x",code="crash"} 2
bulkhead_a_total{adapter="y"} 1e-7
# HELP bulkhead_b None.
# TYPE bulkhead_b gauge
# HELP bulkhead_c One.
# TYPE bulkhead_c gauge
bulkhead_c 0
`);
  expect(toPrometheusText([])).toBe("");
});

test("toPrometheusText lets no value end its line or its quotes", () => {
  const value = 'a"b\\c\nd 1\n# TYPE x';
  const text = toPrometheusText([{
    name: "n",
    help: "a\\b\nc",
    type: "gauge",
    samples: [{ labels: { l: value }, value: 1 }],
  }]);
  expect(text).toBe('# HELP n a\\\\b\\nc\n# TYPE n gauge\nn{l="a\\"b\\\\c\\nd 1\\n# TYPE x"} 1\n');
});

test.each([[Infinity, "+Inf"], [-Infinity, "-Inf"], [NaN, "NaN"], [1.5, "1.5"]])(
  "toPrometheusText writes %s as %s",
  (value, written) => {
    const text = toPrometheusText([{ name: "n", help: "h", type: "gauge", samples: [{ labels: {}, value }] }]);
    expect(text.split("\n")[2]).toBe(`n ${written}`);
  },
);
