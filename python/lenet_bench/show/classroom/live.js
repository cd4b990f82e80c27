export const live = () => ({ ask() {} });
