import { constants, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { OperatorError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { CertificatePair } from './self-signed.ts';

export interface TlsSettings {
	readonly tlsCert?: string | undefined;
	readonly tlsKey?: string | undefined;
	readonly selfSigned?: boolean | undefined;
}

interface CertificateFiles {
	readonly cert: string;
	readonly key: string;
}

/** Certificate and key of a server that terminates TLS. `files` is set where they are reloaded on change. */
export interface Tls {
	readonly pair: CertificatePair;
	readonly files?: CertificateFiles;
}

/**
 * The suites of TLS 1.3, and of TLS 1.2 those with forward secrecy and authenticated encryption: "intermediate" of
 * https://wiki.mozilla.org/Security/Server_Side_TLS, without its suites for clients that have no elliptic curves.
 */
const ciphers = [
	...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
	...['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
	...['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES256-GCM-SHA384'],
	...['ECDHE-ECDSA-CHACHA20-POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
].join(':');

const offered = {
	minVersion: 'TLSv1.2',
	ciphers,
	// Each costs the server as much as a new connection, and browsers never ask for one.
	secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const satisfies SecureContextOptions;
const followEveryMs = 1000;
/** Maximum concurrent streams on an HTTP/2 connection. Each may hold a body in memory. */
const maxStreams = 128;

/**
 * Reads the certificate that the settings name; `undefined` where they name none.
 * @throws OperatorError where a file is missing, or certificate and key do not match
 */
export async function readTls({ tlsCert, tlsKey, selfSigned }: TlsSettings): Promise<Tls | undefined> {
	if (selfSigned) {
		if (tlsCert !== undefined || tlsKey !== undefined)
			throw new OperatorError('--self-signed makes a certificate; leave --tls-cert and --tls-key out.');
		// Loaded here: it is a fifth of all modules, and few servers need it.
		const { selfSignedPair } = await import('./self-signed.ts');
		return { pair: await selfSignedPair() };
	}
	if (tlsCert === undefined && tlsKey === undefined) return undefined;
	if (tlsCert === undefined || tlsKey === undefined)
		throw new OperatorError('--tls-cert and --tls-key go together; one of them is missing.');
	const files = { cert: tlsCert, key: tlsKey };
	const pair = readPair(files);
	checkPair(pair, files);
	return { pair, files };
}

function readPair({ cert, key }: CertificateFiles): CertificatePair {
	return { cert: readFile(cert), key: readFile(key) };
}

function readFile(path: string): string {
	try {
		return readFileSync(path, 'utf8');
	} catch (error) {
		throw new OperatorError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`, {
			cause: error,
		});
	}
}

/** @throws OperatorError where TLS cannot be served with this pair */
function checkPair(pair: CertificatePair, files: CertificateFiles): void {
	try {
		createSecureContext({ ...pair, ...offered });
	} catch (error) {
		const { message } = error as Error;
		throw new OperatorError(
			`${files.cert} and ${files.key} are not a PEM certificate and its unencrypted private key (${message}).`,
			{ cause: error },
		);
	}
}

/** Connection settings of `node:http`. For HTTP/2, they also limit the handshake and idle connections. */
export interface ConnectionOptions {
	readonly headersTimeout: number;
	readonly requestTimeout: number;
	readonly keepAliveTimeout: number;
	readonly connectionsCheckingInterval: number;
	readonly requireHostHeader: boolean;
}

/**
 * Creates a server that speaks HTTP/2 and HTTP/1.1 on one port, as the client negotiates. It has the interface of a
 * `node:http` server.
 */
export function createTlsServer(tls: Tls, options: ConnectionOptions, log: Log): Server {
	const server = createSecureServer({
		...options,
		...tls.pair,
		...offered,
		allowHTTP1: true,
		handshakeTimeout: options.headersTimeout,
		settings: { maxConcurrentStreams: maxStreams },
	});
	// A failed TLS handshake cannot be answered: the client could not read the answer.
	server.removeAllListeners('tlsClientError');
	server.on('tlsClientError', (_error, socket) => socket.destroy());
	server.on('secureConnection', (socket) => {
		// A client that closes its half of the connection after the request still waits for the answer. Before the
		// handshake none does, and HTTP/2 ends a connection with GOAWAY.
		if (socket.alpnProtocol !== 'h2') socket.allowHalfOpen = true;
	});
	server.on('session', (session) => {
		// That of the server, which ends connections of HTTP/1.1, would end this one at once.
		session.removeAllListeners('timeout');
		session.setTimeout(options.keepAliveTimeout, () => {
			session.close();
			// A client that does not read its answers would keep the connection open for ever.
			setTimeout(() => session.destroy(), options.requestTimeout).unref();
		});
		// The handshake was completed after the server had begun to stop.
		if (!server.listening) session.close();
	});
	if (tls.files) followFiles(server, tls.files, tls.pair, log);
	return Object.assign(server, { closeAllConnections: trackConnections(server) }) as unknown as Server;
}

/**
 * HTTP/2 servers cannot close their open connections.
 * @returns a function that closes them, busy or idle
 */
function trackConnections(server: Http2SecureServer): () => void {
	const sockets = new Set<Socket>();
	server.on('connection', (socket: Socket) => {
		sockets.add(socket);
		socket.once('close', () => sockets.delete(socket));
	});
	return () => {
		for (const socket of sockets) socket.destroy();
	};
}

/**
 * Reloads certificate and key for new connections; open connections keep theirs. Polls the files each second, because
 * secrets are mounted as symbolic links to folders that are swapped, which file notifications miss.
 */
function followFiles(
	server: Http2SecureServer,
	files: CertificateFiles,
	first: CertificatePair,
	log: Log,
): void {
	let seen = JSON.stringify(first);
	let decided = seen;
	let lastReason: string | undefined;
	const follow = () => {
		try {
			const pair = readPair(files);
			const text = JSON.stringify(pair);
			// Waits until two reads agree: the two files are not written at the same instant.
			const isSettled = text === seen;
			seen = text;
			if (!isSettled || text === decided) return;
			decided = text;
			checkPair(pair, files);
			server.setSecureContext({ ...pair, ...offered });
			lastReason = undefined;
			log.info({ validTo: new X509Certificate(pair.cert).validTo }, 'certificate reloaded');
		} catch (error) {
			const reason = (error as Error).message;
			if (reason !== lastReason) log.error({ reason }, 'certificate not reloaded; the old one stays');
			lastReason = reason;
		}
	};
	let timer: NodeJS.Timeout | undefined;
	server.once('listening', () => {
		timer = setInterval(follow, followEveryMs).unref();
	});
	server.once('close', () => clearInterval(timer));
}
