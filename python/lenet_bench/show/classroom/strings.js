// What a person reads, in one place, so that it can be translated.
export const strings = {
  live: {
    caption: "What each answers to your drawing, asked one after the other: the median of at most 50 calls",
    backend: "Backend",
    digit: "Digit",
    time: "Time",
    scale: "1 µs to 1 s; each line is ten times the one before",
    browser: "In this browser",
    machine: "On this computer, each in its own process",
    states: {
      waiting: "waits to be started",
      starting: "is starting …",
      ready: "",
      asked: "…",
      failed: "{reason}",
    },
    summary: "{agree} of {all} say {digit}. The fastest is {fastest} with {least}, the slowest {slowest} with {most}.",
    none: "No backend is ready yet.",
    gone: "The program behind this page does not answer. Start it again and open the address that it prints.",
    refused: "The drawing was refused: {reason}",
  },
};
