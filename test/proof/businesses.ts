/**
 * `npm run proof:businesses [PEOPLE [SEED]]` simulates businesses of PEOPLE (800) customers each whose truth is known, as publishers have
 * them, and compares churn, net retention and recurring revenue of 24 months with it: as told in the end, and whether what was told
 * the day after each month holds what the figure became. It exits with 1 where one is off by more than .2 points or .5 %, or fewer
 * than 95 % hold, and no warning says that it cannot be known. `test/capabilities/reports/businesses.test.ts` is the short form.
 */
import { judgeBusiness, judgedRow } from '../capabilities/reports/judging-businesses.ts';
import { knownBusinesses } from '../capabilities/reports/known-businesses.ts';

const [people, seed] = [Number(process.argv[2] ?? 800), Number(process.argv[3] ?? 1)];
const judged = knownBusinesses.map((business) => judgeBusiness(business, { people, seed }));
console.table(judged.map(judgedRow));
const failed = judged.filter((one) => one.failed.length > 0);
const early = judged.reduce((sum, { inside }) => sum + inside, 0) / judged.length;
console.log(
	`${judged.length - failed.length} of ${judged.length} businesses as they are, or said to be unknown; ${(100 * early).toFixed(1)} % of the figures told the day after a month hold what they became`,
);
if (failed.length > 0) process.exitCode = 1;
