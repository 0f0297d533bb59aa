/**
 * `npm run proof:answers` counts, on 500 simulated accounts whose truth is known, how often the sentence on top of a report claims what is not so, with
 * fixed seeds. In half of them nothing differs, so that every claim is wrong. `test/capabilities/reports/answers.test.ts` is the short form.
 */
import { claimsOf } from '../capabilities/reports/simulated-answers.ts';

const accounts = 500;
const mostWrong = 0.01;

const claims = Array.from({ length: accounts }, (_, seed) => claimsOf(seed + 1)).flat();
const counts = [...Map.groupBy(claims, ({ report }) => report)].map(([report, own]) => ({
	report,
	sentences: own.length,
	claims: own.filter(({ isTrue }) => isTrue !== undefined).length,
	wrong: own.filter(({ isTrue }) => isTrue === false).length,
}));
console.table(counts);
for (const { report, answer, isTrue } of claims)
	if (isTrue === false) console.log(`wrong, ${report}: ${answer}`);
for (const { report, sentences, claims: told, wrong } of counts) {
	if (wrong / sentences > mostWrong)
		throw new Error(`${report}: ${wrong} of ${sentences} sentences are wrong`);
	if (told === 0) throw new Error(`${report} claims nothing`);
}
