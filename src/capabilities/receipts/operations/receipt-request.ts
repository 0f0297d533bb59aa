import { compileProblems } from '../../../core/schema/problems.ts';
import { text, textLimits, textRule } from '../../../core/schema/texts.ts';
import { compileCheck, Type } from '../../../core/schema/type.ts';

/** Maximum number of `tid`s in one request. */
export const maxReceipts = 100;

const aid = text('Account token of the client.', ['c-a-acme-uk']);

/** The query of `GET /subscription/{tid}`. */
export const receiptQuerySchema = Type.Object({ aid });
/** The path of `GET /subscription/{tid}`. */
export const receiptPathSchema = Type.Object({ tid: text('Transaction id.', ['order-1001']) });

/** The body of `POST /subscription/receipts`. */
export const receiptsSchema = Type.Object(
	{
		aid,
		tids: Type.Array(Type.String(textLimits), {
			minItems: 1,
			maxItems: maxReceipts,
			description: `Transaction ids, at most ${maxReceipts}.`,
			examples: [['order-1001', 'order-1002']],
			'x-must-be': `an array of 1 to ${maxReceipts} elements, each ${textRule}`,
		}),
	},
	{ description: 'Unknown properties are ignored.' },
);

const oneSchema = Type.Object({ ...receiptPathSchema.properties, ...receiptQuerySchema.properties });

export const receiptsCheck = compileCheck(receiptsSchema);
export const oneReceiptCheck = compileCheck(oneSchema);
export const receiptsProblems = compileProblems(receiptsSchema);
export const oneReceiptProblems = compileProblems(oneSchema);
