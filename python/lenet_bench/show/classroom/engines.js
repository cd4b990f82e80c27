export const engines = async () => ({ ask() {} });
