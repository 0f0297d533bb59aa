/** The version that `GET /tag.js` serves. */
export const currentTag = 'tag.v6.js';

/** SHA-256 of each published file. Pages depend on a version, so its file never changes. The next one is v7. */
export const publishedTags: Readonly<Record<string, string>> = {
	'tag.v6.js': '6713a35476193ed6d24ece3e47bb1031a2fcf48e85314bf97cc6f7e09894cb99',
	'tag.v5.js': '224b3e70b920cf64dc3932ee6a5f6873b9dea93374068121a4f36c7760ea3b81',
	'tag.v4.js': '556151f9afe4568cb248f2ef2db12c8624c6facf04e8f81f4140e08af91c1b2e',
	'tag.v3.js': '7eb67083f13199b226de30ce9a58c8efdd37da1e9f1f4b1c8c6dd7fb365d6209',
	'tag.v2.js': 'c47a4a5f8c53534408424eea6e5e0cb5477a6012b3a37eef701459578a9cc2dd',
	'tag.v1.js': 'b1192da016bf43ce84682dd6419a7ee12a77877e56459a71fbd65adc9b056225',
};
