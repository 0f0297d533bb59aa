/** The version that `GET /tag.js` serves. */
export const currentTag = 'tag.v2.js';

/** SHA-256 of each published file. Pages depend on a version, so its file never changes. The next one is v3. */
export const publishedTags: Readonly<Record<string, string>> = {
	'tag.v2.js': 'c47a4a5f8c53534408424eea6e5e0cb5477a6012b3a37eef701459578a9cc2dd',
	'tag.v1.js': 'b1192da016bf43ce84682dd6419a7ee12a77877e56459a71fbd65adc9b056225',
};
