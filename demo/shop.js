// What a page of your own needs: the queue, the tag, an account, fire. The rest of this file shows what came back.
window.vscr ??= (...command) => {
	vscr.q ??= [];
	vscr.q.push(command);
};

const { server, aid } = window.shop;
const consent = localStorage.getItem('consent') !== 'no';

vscr('setAccount', aid);
vscr('setServer', server);
vscr('setConsent', consent);
if (document.body.dataset.page === 'thank-you') {
	// The order was placed here; the back end uploads the sale with the same tid, when it is paid.
	const tid = sessionStorage.getItem('order') ?? `order-${Date.now()}`;
	vscr('addCustomerId', `customer-of-${tid}`);
	vscr('addEvent', { name: 'checkout', tid, rvn: 499, currency: 'GBP' });
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

function show(id, texts) {
	const list = document.getElementById(id);
	const lines = texts.length > 0 ? texts : ['nothing'];
	list.replaceChildren(
		...lines.map((text) => Object.assign(document.createElement('li'), { textContent: text })),
	);
	list.dataset.ready = '';
}

const subscribe = document.getElementById('subscribe');
subscribe?.addEventListener('click', () => {
	sessionStorage.setItem('order', `order-${crypto.getRandomValues(new Uint32Array(1))[0]}`);
	// Sent when the page is left.
	vscr('addEvent', 'subscribe-clicked');
});

const toggle = document.getElementById('consent');
toggle.checked = consent;
toggle.addEventListener('change', () => {
	localStorage.setItem('consent', toggle.checked ? 'yes' : 'no');
	vscr('setConsent', toggle.checked);
});
