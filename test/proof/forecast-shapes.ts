/**
 * `npm run proof:forecast-shapes [ACCOUNTS] [SEED]` simulates accounts (5) of each of twelve shapes of business from a seed (1) on, makes forecasts of them from what was
 * known on days of the past, and compares these with what came, beside two simple forecasts: as much as the last period, and each
 * due date × the share of dues that were renewed so far. In per cent. `test/reports/forecast-shapes.test.ts` is the short form.
 */
import { judge, judgedTable, toldBy } from '../reports/forecast-shapes.ts';

const [accounts, firstSeed] = [Number(process.argv[2] ?? 5), Number(process.argv[3] ?? 1)];
const judged = judge(accounts, toldBy, { firstSeed });
console.table(judgedTable(judged));
