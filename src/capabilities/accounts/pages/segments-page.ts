import type { Segment } from '../../../core/domain/segment.ts';
import { OperatorError } from '../../../core/errors.ts';
import { formatNumber } from '../../../core/format/numbers.ts';
import { compileRule, type Rule } from '../../../core/segments/rule.ts';
import { acting } from '../../../kit/console/act-form.ts';
import { redirect } from '../../../kit/console/exchange.ts';
import { formOf, hiddenFields, textField } from '../../../kit/console/form.ts';
import { gatewaysNote } from '../../../kit/console/gateways-note.ts';
import { type AccountRequest, accountPage } from '../../../kit/console/page.ts';
import { nameOf, sortedTable } from '../../../kit/console/page-table.ts';
import { includeOf, queryText } from '../../../kit/console/view.ts';
import { asWritten, type Html, type HtmlValue, html } from '../../../kit/format/html.ts';
import { displayName, plainName } from '../../../kit/format/values.ts';
import { withBounds } from '../../../kit/reports/share-interval.ts';
import { outcomeDays, type RuleOutcome, type RuleOutcomes } from '../../training/rule-outcomes.ts';
import { createSegment, deleteSegment, updateSegment } from '../acts/segment-acts.ts';

/** Bounds the elements of the page. */
const maxShown = 100;

/** What `caskade segment` can do, and what became of those who are in each. */
export const segmentsPage = accountPage({
	path: ':aid/segments',
	title: 'Segments',
	menu: 'Segments',
	place: 7,
	right: 'visitors',
	async get(asked) {
		const { query, account } = asked;
		const chosen = account.segments.find(({ id }) => id === query.get('segment'));
		return page(asked, draftOf(query, chosen), query.has('rule'));
	},
	actions: {
		'save segment': acting(updateSegment, async (asked: AccountRequest) => {
			const { form, store, account, request } = asked;
			const draft = draftOf(form);
			const { id, name, rule } = draft;
			if (checked(asked, draft, true).problems.length > 0) return page(asked, draft, true);
			const isKnown = (await store.control.segments(account.id)).some((known) => known.id === id);
			await asked.act(isKnown ? updateSegment : createSegment, { segment: id, name, rule });
			return redirect(`${request.path}?segment=${id}`);
		}),
		'delete segment': acting(deleteSegment, async (asked: AccountRequest) => {
			const segment = asked.form.get('id') ?? '';
			if (asked.form.get('again')?.trim() !== segment)
				throw new OperatorError(`To delete the segment, write its id: ${segment}.`);
			await asked.act(deleteSegment, { segment });
		}),
	},
});

/** What was typed. Browsers send lines with a carriage return, which rules do not need. */
function draftOf(fields: URLSearchParams, of?: Segment): Segment {
	const typed = (name: keyof Segment) =>
		(fields.get(name) ?? of?.[name] ?? '').replaceAll('\r\n', '\n').trim();
	return { id: typed('id'), name: typed('name'), rule: typed('rule') };
}

interface RuleCheck {
	/** Missing where it is not valid. */
	readonly rule?: Rule;
	readonly problems: readonly { readonly of: keyof Segment; readonly text: string }[];
}

/** Compiles the rule, and tells what is wrong with it and with the names. @param isSaved whether it takes names */
function checked({ account }: AccountRequest, { id, name, rule }: Segment, isSaved = false): RuleCheck {
	const problems: { of: keyof Segment; text: string }[] = [];
	const attempt = <Value>(of: keyof Segment, parse: () => Value): Value | undefined => {
		try {
			return parse();
		} catch (error) {
			if (!(error instanceof OperatorError)) throw error;
			problems.push({ of, text: error.message });
			return undefined;
		}
	};
	if (isSaved || id !== '') attempt('id', () => plainName(id));
	if (isSaved || name !== '') attempt('name', () => displayName(name));
	const goals = account.goals.map((goal) => goal.name);
	const compiled = attempt('rule', () => compileRule(rule, goals));
	return { problems, ...(compiled && { rule: compiled }) };
}

/** @param isTried whether the draft is shown with its outcome, or with what is wrong with it */
async function page(asked: AccountRequest, draft: Segment, isTried: boolean): Promise<Html> {
	const { account, request } = asked;
	const { rule, problems } = isTried ? checked(asked, draft, request.method === 'POST') : { problems: [] };
	const known = account.segments.find(({ id }) => id === draft.id);
	const goal = account.goals[0]?.name;
	const problemOf = (of: keyof Segment) => problems.find((problem) => problem.of === of)?.text;
	const described = (of: keyof Segment) =>
		problemOf(of) && html` aria-invalid="true" aria-describedby="${of}-problem"`;
	const problem = (of: keyof Segment) =>
		html`<div data-part="${of}-problem">${problemOf(of) && html`<pre id="${of}-problem" class="problem" role="alert" tabindex="0">${asWritten(problemOf(of) as string)}</pre>`}</div>`;
	return html`<section class="section"><h2>${known ? `Change ${known.id}` : 'Add a segment'}</h2>
<p>A segment is all visitors who match a rule, written in CEL. Pages ask which segments their visitor is in.</p>
<form method="get" action="${request.path}" data-preview>
<p><label>Id <input name="id" value="${draft.id}"${described('id')}></label> <span class="hint">as pages read it, such as high-intent</span></p>
${problem('id')}
<p><label>Name <input name="name" value="${draft.name}"${described('name')}></label> <span class="hint">for people</span></p>
${problem('name')}
<p><label for="rule">Rule</label> <span class="hint">for example <code>visitor.visits &gt;= 3 &amp;&amp; "pricing" in visitor.pages7d</code>${goal && html` or <code>bands["${goal}"] == "high"</code>`}</span>
<textarea id="rule" name="rule" rows="4" maxlength="2000" spellcheck="false" required${described('rule')}>
${asWritten(draft.rule)}</textarea></p>
${problem('rule')}
<p><button>Preview</button> ${(known || isTried) && html`<a href="${request.path}">New segment</a>`}</p>
</form>
<div data-part="save">${rule && draft.id && draft.name && problems.length === 0 && saveForm(asked, draft, known)}</div>
${known && deleteForm(asked, known)}</section>
${rule || !isTried ? await outcomes(asked, draft, rule) : triedPart(null)}`;
}

function saveForm(asked: AccountRequest, { id, name, rule }: Segment, known: Segment | undefined): Html {
	const button = known ? `Replace ${id} with this` : `Save as ${id}`;
	return formOf(asked, 'save segment', hiddenFields({ id, name, rule: asWritten(rule) }), button);
}

function deleteForm(asked: AccountRequest, { id }: Segment): Html {
	const again = textField('again', 'Its id, once more', '', { isRequired: true });
	return html`<details><summary>Delete ${id}</summary>
${formOf(asked, 'delete segment', [hiddenFields({ id }), again], 'Delete', { look: 'danger' })}
</details>`;
}

/** @param tried the draft's rule, where it is tried */
async function outcomes(asked: AccountRequest, draft: Segment, tried: Rule | undefined): Promise<Html> {
	const { account, request } = asked;
	const shown = account.segments.slice(0, maxShown);
	const rules = shown.map((segment) => checked(asked, segment).rule);
	const valid = rules.filter((rule) => rule !== undefined);
	const { base, visitors, all, gatewayVisitors, rules: saved } = await keptOutcomes(asked, valid);
	const hasStar = saved.some(
		({ recent }, place) => recent > 0 && base.subscribed > 0 && valid[place]?.readsScores,
	);
	const left = saved.values();
	const rows = shown.map(({ id, name, rule }, place): HtmlValue[] => {
		const path = html`<a href="${request.path}?segment=${encodeURIComponent(id)}">${id}</a>`;
		// One that is valid no more matches nobody.
		if (!rules[place]) return [path, nameOf(name), '-', '-', '-', '-', 'not valid', codeOf(rule)];
		const [matching, ...others] = cells(left.next().value as RuleOutcome, base, rules[place]?.readsScores);
		const members = html`<a href="/console/${account.aid}/visitors${queryText(undefined, { segment: id, include: includeOf(asked.view) })}">${matching}</a>`;
		return [path, nameOf(name), members, ...others, codeOf(rule)];
	});
	const everybody = ['', 'All visitors', ...cells(base), ''];
	const ofTried = tried && (await keptOutcomes(asked, [tried])).rules[0];
	const preview = ofTried && [
		['not saved', nameOf(draft.name), ...cells(ofTried, base, tried?.readsScores), codeOf(draft.rule)],
		everybody,
	];
	return html`${triedPart(
		preview &&
			html`<section class="section" aria-labelledby="preview"><h2 id="preview">Preview</h2>
${outcomeTable(undefined, 'Preview', preview)}</section>`,
	)}
<section class="section" aria-labelledby="saved"><h2 id="saved">Segments</h2>
${visitors === 0 && html`<p class="empty">Nobody has visited yet, so nobody is in a segment. Pages report visits through the tag, which begins with <code>vscr('setAccount', '${account.aid}'); vscr('fire');</code></p>`}
${rows.length === 0 ? html`<p class="empty">No segments. Add one above, or with <code>caskade segment create ${account.aid} ID</code>.</p>` : outcomeTable(asked, 'Segments', [...rows, everybody])}
${rows.length < account.segments.length && html`<p class="note">These are the first ${rows.length} of ${account.segments.length}.</p>`}
${hasStar && html`<p class="note">* Too optimistic: the rule reads scores, whose model has learned from these days.</p>`}
${visitors < all && html`<p class="warning">These figures are of a random sample: ${formatNumber(visitors)} of ${formatNumber(all)} visitors.</p>`}
${gatewaysNote(asked, gatewayVisitors)}
<details><summary>What these figures are</summary><p>“Members now” match the rule at this moment, as <code>caskade segment test ${account.aid}</code> counts them. “Members of the last ${outcomeDays} days” are visitors who came in these days and matched after one of their hits. “Subscribed afterwards” are those of them who began a subscription after the first such hit; “Share subscribed” is their share of these members. “Times the average” compares it with all visitors who came in these days: it is divided by the share of them who began a subscription after their first hit in these days. Its bounds are of a 95 % interval. It says who subscribes, not what the segment causes: only an experiment shows that. Rules that read scores get those of the active models, which may have learned from these days, so their figures look better than they will be.</p></details></section>`;
}

function outcomeTable(
	asked: AccountRequest | undefined,
	label: string,
	rows: readonly (readonly HtmlValue[])[],
): Html {
	const headings = [
		...['Segment', 'Name', '#Members now', `#Members of the last ${outcomeDays} days`],
		...['#Subscribed afterwards', '#Share subscribed', '#Times the average', 'Rule…'],
	];
	const columns = headings.map((heading, place) => [heading, (row: readonly HtmlValue[]) => row[place]]);
	return sortedTable(asked, label, rows, Object.fromEntries(columns));
}

/** What somebody who types hears of. */
function triedPart(outcome: HtmlValue): Html {
	return html`<div data-part="tried" aria-live="polite">${outcome}</div>`;
}

/** Whoever types a rule asks for its outcome again and again, beside those of all others. */
function keptOutcomes(
	{ account, view, computed }: AccountRequest,
	rules: readonly Rule[],
): Promise<RuleOutcomes> {
	const texts = rules.map(({ text }) => text);
	return computed({ type: 'outcomes', aid: account.aid, rules: texts, include: includeOf(view) });
}

const codeOf = (rule: string) => html`<code>${asWritten(rule)}</code>`;
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

/** @param base of everybody, where the ratio to all is shown */
function cells(
	{ matching, recent, subscribed }: RuleOutcome,
	base?: RuleOutcome,
	readsScores = false,
): HtmlValue[] {
	const counts = [matching, recent, subscribed].map(formatNumber);
	if (recent === 0) return [...counts, '-', '-'];
	const { share, low, high } = withBounds(subscribed / recent, recent);
	if (!base) return [...counts, percent(share), '1'];
	if (base.subscribed === 0) return [...counts, percent(share), '-'];
	const ratio = (of: number) => ((of * base.recent) / base.subscribed).toFixed(2);
	if (readsScores) return [...counts, percent(share), `${ratio(share)}*`];
	// Everybody includes the members, so these bounds are rather too wide than too narrow.
	return [...counts, percent(share), `${ratio(share)} (${ratio(low)}–${ratio(high)})`];
}
