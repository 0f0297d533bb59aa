import type { MovementRow } from '../../src/capabilities/reports/movement.ts';
import type { TriedRow } from '../../src/capabilities/reports/trials.ts';
import type { Report } from '../../src/kit/reports/report.ts';
import type { Asked, Figures } from './journeys.ts';
import { planOf } from './subscription-sums.ts';

/** The figures of a report, by the names that `path-sums.ts` and `cohort-sums.ts` give them. */

type Fields = Readonly<Record<string, unknown>>;
type Rows = readonly Fields[];

const names = ['trials', 'subscriptions', 'acquisitionPence', 'renewalPence', 'refundPence'] as const;

const labelOf = (row: Fields, { by }: Asked) => {
	const values = by.map((name) => row[name]);
	return values[0] === '(none)' ? '(none)' : values.join(' | ');
};

function addTotals(figures: Figures, { totals }: Report): void {
	for (const name of [...names, 'netPence'] as const) figures.set(`total ${name}`, totals?.[name]);
}

/** The group of a row on subscriptions. */
const groupOf = (row: Fields, { groups }: Asked) =>
	groups.map((name) => row[name === 'price' ? 'pricePence' : name]).join(' | ');

export function attributionFigures(report: Report, asked: Asked): Figures {
	const figures: Figures = new Map();
	addTotals(figures, report);
	const totals = report.totals as unknown as Fields;
	figures.set('total arrivals', totals.arrivals);
	figures.set('total visitors', totals.visitors);
	const markov = report.markov as Fields | undefined;
	if (markov) {
		figures.set('converted paths', markov.subscriptions);
		figures.set('lost paths', markov.lostPaths);
		figures.set('lost after', markov.lostAfterDays);
	}
	for (const row of (report.series ?? []) as Rows) {
		const name = `${row[String(asked.every)]} ${labelOf(row, asked)}`;
		figures.set(`${name}: arrivals`, row.arrivals);
		figures.set(`${name}: visitors`, row.visitors);
		figures.set(`${name}: subscriptions`, row.subscriptions);
		figures.set(`${name}: pence`, row.netPence);
		figures.set(`${name}: rate`, row.conversionRate);
	}
	for (const row of report.rows) {
		const label = labelOf(row, asked);
		figures.set(`${label}: assist`, row.assistRatio);
		figures.set(`${label}: arrivals`, row.arrivals);
		figures.set(`${label}: visitors`, row.visitors);
		for (const [model, amounts] of Object.entries(row.models as Record<string, Fields>)) {
			for (const name of names) figures.set(`${label}: ${model} ${name}`, amounts[name]);
			figures.set(`${label}: ${model} share`, amounts.share);
			figures.set(`${label}: ${model} net`, amounts.netPence);
			figures.set(`${label}: ${model} share`, amounts.share);
			figures.set(`${label}: ${model} net`, amounts.netPence);
			figures.set(`${label}: ${model} rate`, amounts.conversionRate);
			if (model === 'markov' && asked.intervals)
				for (const bound of ['low', 'high']) figures.set(`${label}: ${bound}`, amounts[bound] ?? null);
			figures.set(`${label}: ${model} each`, amounts.netPerVisitorPence);
		}
	}
	return figures;
}

/** The columns of an attribution report that do not add up to their totals. */
export function wrongColumns(report: Report): string[] {
	const rows = report.rows.map(({ models }) => models as Record<string, Record<string, number>>);
	return Object.keys(rows[0] ?? {}).flatMap((model) =>
		([...names, 'netPence'] as const).filter((name) => {
			const total = rows.reduce((sum, row) => sum + (row[model]?.[name] as number), 0);
			return Math.abs(total - (report.totals?.[name] ?? Number.NaN)) > 1e-9;
		}),
	);
}

export function pathFigures(report: Report): Figures {
	const figures: Figures = new Map();
	addTotals(figures, report);
	for (const row of report.rows) {
		const repeats = row.repeats as readonly number[];
		const name = (row.path as readonly string[])
			.map((label, place) => `${label.replaceAll(' / ', ' | ')} ×${repeats[place]}`)
			.join(' > ');
		figures.set(`path ${name}: trials`, row.trials);
		figures.set(`path ${name}: subscriptions`, row.subscriptions);
		figures.set(`path ${name}: pence`, row.netPence);
		figures.set(`path ${name}: share`, row.share);
		figures.set(`path ${name}: share`, row.share);
	}
	for (const { touches, subscriptions } of report.lengths as Rows)
		figures.set(`length ${touches}`, subscriptions);
	for (const { from, to, subscriptions } of report.transitions as Rows)
		figures.set(`${from} to ${to}`.replaceAll(' / ', ' | '), subscriptions);
	const { paths, transitions, pages } = report.distinct as Fields;
	figures.set('paths', paths);
	figures.set('transitions', transitions);
	figures.set('pages', pages);
	// The report lists a hundred.
	if (Number(pages) <= 100)
		for (const { page, subscriptions } of report.pages as Rows) figures.set(`page ${page}`, subscriptions);
	for (const { step, from, to, subscriptions, lost } of report.steps as Rows) {
		const name = `step ${step} ${from} to ${to}`.replaceAll(' / ', ' | ');
		figures.set(`${name}: (conversion)`, subscriptions);
		figures.set(`${name}: (lost)`, lost);
	}
	for (const percent of ['p50', 'p75', 'p90']) {
		figures.set(`days ${percent}`, (report.daysToConvert as Fields)[percent]);
		figures.set(`approval ${percent}`, (report.approvalDays as Fields)[percent]);
	}
	return figures;
}

export function lifetimeValueFigures(report: Report, asked: Asked): Figures {
	const figures: Figures = new Map();
	for (const row of report.rows) {
		const name = `${row.month} ${groupOf(row, asked)}`;
		figures.set(`${name}: subscriptions`, row.subscriptions);
		const [pence, each] = [row.cumulativePence, row.ltvPence] as readonly (readonly unknown[])[];
		for (const age of pence?.keys() ?? []) {
			figures.set(`${name}: pence ${age}`, pence?.[age]);
			figures.set(`${name}: each ${age}`, each?.[age]);
		}
		figures.set(`${name}: to date`, row.penceToDate);
		figures.set(`${name}: each to date`, row.ltvToDatePence);
		figures.set(`${name}: customers`, row.customers);
		figures.set(`${name}: customers to date`, row.customerPenceToDate);
		figures.set(`${name}: customer to date`, row.customerLtvToDatePence);
		for (const [age, value] of (row.customerLtvPence as readonly unknown[]).entries())
			figures.set(`${name}: customer ${age}`, value);
		const projected = row.projected as Fields;
		figures.set(`${name}: projected`, projected.pence);
		figures.set(`${name}: projected low`, projected.lowPence);
		figures.set(`${name}: projected high`, projected.highPence);
	}
	for (const { age, subscriptions, ltvPence } of report.all as Rows) {
		figures.set(`all ${age}: subscriptions`, subscriptions);
		figures.set(`all ${age}: each`, ltvPence);
	}
	return figures;
}

export function renewalFigures(report: Report, asked: Asked): Figures {
	const figures: Figures = new Map();
	for (const row of report.rows) {
		const name = `${planOf(row.periodDays as number | null)} ${row.evt}: ${groupOf(row, asked)}`;
		figures.set(`${name} subscriptions`, row.subscriptions);
		figures.set(`${name} days`, row.periodDays);
		figures.set(`${name} refunds`, row.refundRate);
		const [eligible, did] = [row.eligible, row.renewed] as readonly (readonly unknown[])[];
		for (const [place, could] of eligible?.entries() ?? []) {
			figures.set(`${name} ${place + 1} eligible`, could);
			figures.set(`${name} ${place + 1} did`, did?.[place]);
		}
		for (const { age, atRisk, renewed, share, low, high } of row.survivors as Rows) {
			figures.set(`${name} ${age} renewed`, renewed);
			figures.set(`${name} ${age} at risk`, atRisk);
			figures.set(`${name} ${age} left`, share);
			figures.set(`${name} ${age} low`, low);
			figures.set(`${name} ${age} high`, high);
		}
	}
	return figures;
}

export function trialFigures(report: Report, asked: Asked): Figures {
	const figures: Figures = new Map();
	for (const row of report.rows) {
		const span = asked.every === null ? '' : `${row[asked.every]} `;
		const name = `${span}${groupOf(row, asked)}`;
		const { p50, p75, p90 } = row.daysToConvert as Fields;
		const figuresOf = {
			trials: row.trials,
			converted: row.converted,
			open: row.open,
			'not converted': row.notConverted,
			decided: row.decided,
			'converted at least': (row as unknown as TriedRow).provisional?.converted.low ?? null,
			'converted likely': (row as unknown as TriedRow).provisional?.converted.likely ?? null,
			'rate likely': (row as unknown as TriedRow).provisional?.conversionRate.likely ?? null,
			'converted at most': (row as unknown as TriedRow).provisional?.converted.high ?? null,
			'rate at least': (row as unknown as TriedRow).provisional?.conversionRate.low ?? null,
			'rate at most': (row as unknown as TriedRow).provisional?.conversionRate.high ?? null,
			rate: row.conversionRate,
			low: row.low,
			high: row.high,
			'days 50': p50,
			'days 75': p75,
			'days 90': p90,
		};
		for (const [figure, value] of Object.entries(figuresOf)) figures.set(`${name}: ${figure}`, value);
	}
	return figures;
}

export function movementFigures(report: Report, asked: Asked): Figures {
	const figures: Figures = new Map();
	for (const row of report.rows) {
		const pence = Object.entries(row.recurringPence as Readonly<Record<string, number>>);
		const figuresOf = {
			...(row.subscriptions as Readonly<Record<string, number>>),
			...Object.fromEntries(pence.map(([kind, value]) => [`${kind}Pence`, value])),
			refundPence: row.refundPence,
			churn: row.subscriptionChurn,
			retention: row.netRevenueRetention,
			grossRetention: row.grossRevenueRetention,
			...Object.fromEntries(
				Object.entries((row as unknown as MovementRow).customers).map(([name, count]) => [
					`${name}Customers`,
					count,
				]),
			),
			customerChurn: row.customerChurn,
			customerRetention: row.customerNetRevenueRetention,
			...maybeOf(row as unknown as MovementRow),
		};
		for (const [figure, value] of Object.entries(figuresOf))
			figures.set(`${row[asked.every ?? 'month']} ${groupOf(row, asked)}: ${figure}`, value);
	}
	return figures;
}

const maybe = [
	...['ended', 'closing', 'closingPence', 'subscriptionChurn', 'customerChurn'],
	...['grossRevenueRetention', 'netRevenueRetention', 'customerNetRevenueRetention'],
] as readonly Exclude<keyof NonNullable<MovementRow['provisional']>, 'pastDue' | 'pastDuePence'>[];

/** What the figures of a row may become. */
function maybeOf({ provisional }: MovementRow): Fields {
	const { pastDue = null, pastDuePence = null } = provisional ?? {};
	const bounds = maybe.flatMap((figure) =>
		(['low', 'likely', 'high'] as const).map((bound) => [
			`${figure} ${bound}`,
			provisional?.[figure]?.[bound] ?? null,
		]),
	);
	return { pastDue, pastDuePence, ...Object.fromEntries(bounds) };
}

export function summaryFigures(report: Report): Figures {
	const figures: Figures = new Map();
	for (const { moment, ...row } of report.rows as Rows)
		for (const [figure, value] of Object.entries(row)) figures.set(`${moment}: ${figure}`, value);
	return figures;
}

export function retentionFigures(report: Report, asked: Asked): Figures {
	const figures: Figures = new Map();
	for (const row of report.rows) {
		const name = `${row.month} ${groupOf(row, asked)}`;
		figures.set(`${name}: subscriptions`, row.subscriptions);
		figures.set(`${name}: now`, row.activeNow);
		figures.set(`${name}: to date`, row.penceToDate);
		const [active, pence] = [row.active, row.pence] as readonly (readonly unknown[])[];
		for (const age of active?.keys() ?? []) {
			figures.set(`${name}: active ${age}`, active?.[age]);
			figures.set(`${name}: pence ${age}`, pence?.[age]);
			figures.set(`${name}: open ${age}`, (row.open as readonly unknown[])[age]);
			figures.set(`${name}: gone ${age}`, (row.likelyGone as readonly unknown[])[age]);
		}
	}
	for (const at of report.all as Rows) {
		const { age, subscriptions, active, open, share, low, high, pencePerSubscription } = at;
		figures.set(`all ${age}: open`, open);
		figures.set(`all ${age}: subscriptions`, subscriptions);
		figures.set(`all ${age}: active`, active);
		figures.set(`all ${age}: each`, pencePerSubscription);
		figures.set(`all ${age} left`, share);
		figures.set(`all ${age} low`, low);
		figures.set(`all ${age} high`, high);
	}
	return figures;
}

export function funnelFigures(report: Report): Figures {
	const figures: Figures = new Map();
	const rows = report.rows as Rows;
	for (const [place, { page, part, value, ...columns }] of rows.entries()) {
		figures.set(`row ${place}`, `${page} ${part} ${value}`);
		for (const [column, number] of Object.entries(columns))
			figures.set(`${page} ${part} ${value}: ${column}`, number);
	}
	return figures;
}

export function activityFigures(report: Report): Figures {
	const figures: Figures = new Map(
		Object.entries(report.totals ?? {})
			.filter(([name]) => name !== 'netPence')
			.map(([name, number]) => [`total ${name}`, number]),
	);
	for (const row of report.rows) {
		const { [String(report.every)]: span, part: _, ...columns } = row as Readonly<Record<string, unknown>>;
		for (const [column, number] of Object.entries(columns)) figures.set(`${span}: ${column}`, number);
	}
	return figures;
}

export function coverageFigures(report: Report, asked: Asked): Figures {
	const figures: Figures = new Map();
	for (const { month, evt, ...columns } of report.rows) {
		const name = asked.by.length === 0 ? 'all' : `${month} ${evt}`;
		if (columns.events === 0) continue;
		for (const [column, number] of Object.entries(columns)) figures.set(`${name}: ${column}`, number);
	}
	return figures;
}

export function spendingFigures(report: Report, asked: Asked): Figures {
	const figures: Figures = new Map();
	for (const row of report.rows) {
		const label = labelOf(row, asked);
		figures.set(`${label}: spent`, row.spentPence);
		figures.set(`${label}: trials`, row.trials);
		figures.set(`${label}: subscriptions`, row.subscriptions);
		figures.set(`${label}: net`, row.netPence);
		figures.set(`${label}: each`, row.costPerSubscriptionPence);
		figures.set(`${label}: return`, row.returnRatio);
		figures.set(`${label}: payback`, row.paybackMonth);
	}
	return figures;
}
