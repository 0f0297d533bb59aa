/** The bytes of a secret that an authenticator app was shown. */
export function base32(text: string): Buffer {
	const bits = [...text].map((letter) =>
		'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
	);
	return Buffer.from((bits.join('').match(/.{8}/g) as string[]).map((eight) => Number.parseInt(eight, 2)));
}
