import type { Configuration } from 'openid-client';
import type { SsoSettings } from '../../../kit/console/exchange.ts';
import type { Identity } from '../store/people-store.ts';

/** What the browser keeps between the way to the provider and the way back. */
interface Journey {
	readonly state: string;
	readonly nonce: string;
	readonly verifier: string;
}

/** Where the provider sends people back to; it must know this address. */
export const returnPath = '/console/sign-in/return';

/**
 * Asks a provider who somebody is: the authorization code flow of OpenID Connect with PKCE, by a library that is certified.
 * The answer counts by issuer and subject. A mail address proves nothing: it may change, and be given to somebody else.
 */
export class SingleSignOn {
	readonly #settings: SsoSettings;
	readonly #redirectUri: string;
	#configuration: Promise<Configuration> | undefined;

	constructor(settings: SsoSettings, consoleUrl: string) {
		this.#settings = settings;
		this.#redirectUri = consoleUrl + returnPath;
	}

	/** The host of the provider, for people. */
	get host(): string {
		return new URL(this.#settings.issuer).host;
	}

	/**
	 * @returns the provider's address to lead the browser to, and what the browser must bring back
	 * @throws where the provider cannot be reached, or names itself otherwise
	 */
	async depart(): Promise<{ address: string; kept: string }> {
		const client = await import('openid-client');
		const configuration = await this.#discovered();
		const journey: Journey = {
			state: client.randomState(),
			nonce: client.randomNonce(),
			verifier: client.randomPKCECodeVerifier(),
		};
		const { href } = client.buildAuthorizationUrl(configuration, {
			redirect_uri: this.#redirectUri,
			scope: 'openid',
			state: journey.state,
			nonce: journey.nonce,
			code_challenge: await client.calculatePKCECodeChallenge(journey.verifier),
			code_challenge_method: 'S256',
		});
		return { address: href, kept: [journey.state, journey.nonce, journey.verifier].join('.') };
	}

	/**
	 * @param query with which the provider has sent the browser back
	 * @param kept what the browser was given; good once, as the provider's code is
	 * @throws where the answer is not to this question, is forged, or was used before
	 */
	async arrive(query: string, kept: string): Promise<Identity> {
		const client = await import('openid-client');
		const configuration = await this.#discovered();
		const [expectedState = '', expectedNonce = '', pkceCodeVerifier = ''] = kept.split('.');
		const tokens = await client.authorizationCodeGrant(
			configuration,
			new URL(`${this.#redirectUri}?${query}`),
			{ expectedState, expectedNonce, pkceCodeVerifier, idTokenExpected: true },
		);
		const claims = tokens.claims();
		if (!claims) throw new Error('the provider has said nothing about the person');
		return { issuer: claims.iss, subject: claims.sub };
	}

	/** The provider's own settings. Asked for when they are first needed, and again after a failure. */
	#discovered(): Promise<Configuration> {
		this.#configuration ??= this.#discover().catch((error) => {
			this.#configuration = undefined;
			throw error;
		});
		return this.#configuration;
	}

	async #discover(): Promise<Configuration> {
		const client = await import('openid-client');
		const { issuer, clientId, clientSecret } = this.#settings;
		const address = new URL(issuer);
		// The settings allow it on this machine alone, to try it out.
		const isPlain = address.protocol === 'http:';
		return client.discovery(address, clientId, clientSecret, undefined, {
			timeout: 10,
			...(isPlain && { execute: [client.allowInsecureRequests] }),
		});
	}
}
