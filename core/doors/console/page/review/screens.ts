// The screens that a page loads when it shows the first of them.
export { Compare } from "../compare/compare.tsx";
export { CompareList } from "../compare/compare-list.tsx";
export { Review } from "./review.tsx";
export { ReviewList } from "./review-list.tsx";
