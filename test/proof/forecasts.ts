/**
 * `npm run proof:forecasts [ACCOUNTS]` simulates accounts (5) of each of twelve shapes of business, makes forecasts of them from what was
 * known on days of the past, and compares these with what came, beside two simple forecasts: as much as the last period, and each
 * due date × the share of dues that were renewed so far. In per cent. `test/reports/forecast-shapes.test.ts` is the short form.
 */
import { judge, judgedTable, toldBy } from '../reports/forecast-shapes.ts';

const judged = judge(Number(process.argv[2] ?? 5), toldBy);
console.table(judgedTable(judged));
