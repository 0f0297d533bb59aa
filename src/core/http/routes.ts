import type { FastifyInstance } from 'fastify';
import { ApiError } from '../errors.ts';

/** Methods that a 405 may list, in this order. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * The registered paths and their methods. The framework can only be asked by route pattern, and a client's path must
 * never be interpreted as a pattern.
 */
export class Routes {
	readonly #methodsAt = new Map<string, Set<string>>();
	/** Methods of paths that end in a parameter, such as `/subscription/:tid`, by the path before it. */
	readonly #methodsUnder = new Map<string, Set<string>>();

	/** Records every route that is added from now on. */
	constructor(app: FastifyInstance) {
		app.addHook('onRoute', ({ url, method }) => {
			const [path = '', parameter] = url.split(':');
			const routes = parameter === undefined ? this.#methodsAt : this.#methodsUnder;
			const known = routes.getOrInsertComputed(path, () => new Set());
			for (const name of [method].flat()) known.add(name);
		});
	}

	/** All registered paths. A parameter is left out, as of `/subscription/:tid`. */
	get paths(): string[] {
		return [...this.#methodsAt.keys(), ...this.#methodsUnder.keys()];
	}

	/** @param target as the client sent it */
	has(target: string, method: string): boolean {
		const path = pathOf(target);
		if (this.#methodsAt.get(path)?.has(method)) return true;
		const end = path.lastIndexOf('/') + 1;
		return end < path.length && this.#methodsUnder.get(path.slice(0, end))?.has(method) === true;
	}

	/**
	 * The error for a request that no route matches. `OPTIONS` is a preflight: it is refused like the request that would
	 * follow it.
	 */
	missing(target: string, method: string): ApiError {
		const allowed = methods.filter((candidate) => this.has(target, candidate));
		if (allowed.length === 0) return new ApiError('not_found');
		if (method === 'OPTIONS') return new ApiError('forbidden');
		return new ApiError('method_not_allowed', { headers: { allow: allowed.join(', ') } });
	}
}

/** The path of a request target, as the framework's router sees it. */
function pathOf(target: string): string {
	const [path = ''] = target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1);
	try {
		return decodeURI(path);
	} catch {
		return path;
	}
}
