/** A budget as a form of a list: applied to the part that policy shows, and kept with it in the list cache. */
import type { ShownList } from '../policy/filtered-list.ts';
import { type Budget, type ListCost, planOf } from './plan.ts';

/** `made` is told of each list that is made. */
export function withinBudget(budget: Budget, finds: boolean, made: (cost: ListCost) => void): ShownList {
  return {
    audience: `budget ${budget.tokens} ${finds}`,
    isForAll: true,
    knows: () => true,
    knowsOf: () => true,
    places: ({ places }) => {
      const plan = planOf(places, budget, finds);
      made(plan);
      return plan.places;
    },
  };
}
