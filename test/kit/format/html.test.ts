import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { html } from '../../../src/kit/format/html.ts';

test('texts are escaped, markup is not, lists are joined, and nothing is shown for what is missing', () => {
	const row = (name: string) => html`<li>${name}</li>`;
	assert.equal(
		`${html`<ul title="${'"a" & \'b\''}">${['<b>', '1'].map(row)}${null}${undefined}${false}${0}</ul>`}`,
		'<ul title="&#34;a&#34; &#38; &#39;b&#39;"><li>&#60;b&#62;</li><li>1</li>0</ul>',
	);
});

test('characters that would turn or move what is around them are written as escapes', () => {
	assert.equal(`${html`${'a\u202eb\u0007'}`}`, 'a\\u202eb\\u0007');
});

test('no text begins a tag or ends an attribute', () => {
	fc.assert(
		fc.property(fc.string({ unit: 'grapheme' }), (text) => {
			assert.doesNotMatch(`${html`${text}`}`, /[<>"']/);
			assert.doesNotMatch(`${html`${[text, [text]]}`}`, /[<>"']|&(?!#)/);
		}),
	);
});
