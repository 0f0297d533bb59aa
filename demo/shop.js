// What a page of your own needs: the queue, the tag, an account, fire. The rest of this file shows what came back.
window.vscr ??= (...command) => {
	vscr.q ??= [];
	vscr.q.push(command);
};

const { server, aid } = window.shop;
const { page } = document.body.dataset;
const consent = localStorage.getItem('consent') !== 'no';
const order = sessionStorage.getItem('order') ?? 'order-1';

vscr('setAccount', aid);
vscr('setServer', server);
vscr('setConsent', consent);
if (page === 'pricing') vscr('addEvent', 'plans-viewed');
if (page === 'checkout') {
	// The sale begins here; the back end uploads it with the same tid, when it is paid.
	vscr('addCustomerId', `customer-of-${order}`);
	vscr('addEvent', { name: 'checkout-started', tid: order, rvn: 499, currency: 'GBP' });
}
vscr('fire');

const script = document.createElement('script');
script.async = true;
script.src = `${server}/tag.js`;
document.head.append(script);

// Content for a segment: the first element whose data-segment the visitor is in is shown, else the one without.
vscr('segments', (segments) => {
	const ids = segments.map(({ id }) => id);
	for (const group of document.querySelectorAll('[data-segments]')) {
		const choices = [...group.children];
		const chosen =
			choices.find(({ dataset }) => ids.includes(dataset.segment)) ??
			choices.find(({ dataset }) => !dataset.segment);
		for (const choice of choices) choice.hidden = choice !== chosen;
	}
	show(
		'segments',
		segments.map(({ name }) => name),
	);
});
vscr('scores', (scores) => {
	show(
		'scores',
		scores.map(({ goal, score, band }) => `${goal}: ${(score * 100).toFixed(1)} %, ${band}`),
	);
});

document.getElementById('known').innerHTML = `
	<section><b>Your segments</b><ul id="segments"></ul></section>
	<section><b>Your scores</b><ul id="scores"></ul></section>
	<label><input type="checkbox" id="consent"> This shop may remember my visits</label>`;

function show(id, texts) {
	const list = document.getElementById(id);
	const lines = texts.length > 0 ? texts : ['nothing'];
	list.replaceChildren(
		...lines.map((text) => Object.assign(document.createElement('li'), { textContent: text })),
	);
	list.dataset.ready = '';
}

document.getElementById('subscribe')?.addEventListener('click', () => {
	sessionStorage.setItem('order', `order-${crypto.getRandomValues(new Uint32Array(1))[0]}`);
	// Sent when the page is left.
	vscr('addEvent', 'add-to-basket');
});

const upload = document.getElementById('upload');
if (upload) {
	const data = [{ tid: order, subid: order, evt: 'membership', rvn: 499 }];
	upload.textContent = `curl ${server}/subscription -H "x-api-key: $KEY" -H 'content-type: application/json' -d '${JSON.stringify({ aid, data })}'`;
}

const toggle = document.getElementById('consent');
toggle.checked = consent;
toggle.addEventListener('change', () => {
	localStorage.setItem('consent', toggle.checked ? 'yes' : 'no');
	vscr('setConsent', toggle.checked);
});
