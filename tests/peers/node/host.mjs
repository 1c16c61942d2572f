// The user, the model and the folder of the peer clients in Node.
export const host = {
  capabilities: { elicitation: {}, sampling: {}, roots: {} },
  elicit: () => ({ action: 'accept', content: {} }),
  sample: () => ({ role: 'assistant', content: { type: 'text', text: 'Fine.' }, model: 'fixture' }),
  roots: () => ({ roots: [{ uri: 'file:///work' }] }),
};
