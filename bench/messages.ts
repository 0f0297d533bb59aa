import { readFileSync } from 'node:fs';
import { aidOf, bodies, type Tids } from './rows.ts';

/** What a generator of its own sends, and what it is answered. */
export type Messages =
	| {
			readonly kind: 'uploads';
			readonly key: string;
			readonly rows: number;
			readonly prefix: string;
			readonly tids?: Tids;
	  }
	/** Of scores, with casks of this file. */
	| { readonly kind: 'reads'; readonly casks: string }
	/** Of the visits of this file. */
	| { readonly kind: 'hits'; readonly visits: string };

export const statusOf = (messages: Messages) => (messages.kind === 'uploads' ? 201 : 200);

/** Makes whole requests, head and body; cheap, because all but a few characters is made once. */
export function messageMaker(messages: Messages): (request: number) => string {
	if (messages.kind === 'uploads') {
		const body = bodies(messages.prefix, messages.rows, messages.tids);
		const head = `POST /subscription HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nx-api-key: ${messages.key}\r\nContent-Length: ${body(0).length}\r\n\r\n`;
		return (request) => head + body(request);
	}
	const requests =
		messages.kind === 'reads'
			? linesOf(messages.casks).map(
					(cask) =>
						`GET /visscores?cask=${cask} HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://shop.example\r\n\r\n`,
				)
			: linesOf(messages.visits).map(hitOf);
	return () => requests[Math.floor(Math.random() * requests.length)] as string;
}

function hitOf(visit: string, index: number): string {
	const [vid, sid] = visit.split(' ');
	const page = `articles/page-${index % 200}`;
	const body = JSON.stringify({
		...{ aid: aidOf(1), vid, sid },
		...{ url: `https://shop.example/${page}`, title: `The page ${page}`, events: [] },
	});
	return `POST /hit HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://shop.example\r\nContent-Type: text/plain;charset=UTF-8\r\nUser-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.1.0 Safari/537.36\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

function linesOf(path: string): string[] {
	return readFileSync(path, 'latin1').trim().split('\n');
}
