// An agent of the Agent Client Protocol that costs next to nothing: it starts in 2 ms and says what the prompt orders.
// [chunks 100] says a hundred pieces and ends the turn; [wait] says one and ends when it is cancelled.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_BYTES 128

static char turn[ID_BYTES];

static const char *after_string(const char *at) {
  for (at++; *at != '\0' && *at != '"'; at++) {
    if (*at == '\\' && at[1] != '\0') at++;
  }
  return *at == '"' ? at + 1 : at;
}

// Copies the value of a key of the message itself; keys inside other values do not count.
static void field(const char *line, const char *key, char *value, size_t size) {
  int depth = 0;
  value[0] = '\0';
  for (const char *at = line; *at != '\0';) {
    if (*at == '{' || *at == '[') depth++;
    if (*at == '}' || *at == ']') depth--;
    if (*at != '"') {
      at++;
      continue;
    }
    const char *end = after_string(at);
    size_t length = strlen(key);
    if (depth == 1 && *end == ':' && (size_t)(end - at) == length + 2 && strncmp(at + 1, key, length) == 0) {
      const char *from = end + 1;
      const char *to = *from == '"' ? after_string(from) : from + strcspn(from, ",}");
      size_t bytes = (size_t)(to - from) < size ? (size_t)(to - from) : size - 1;
      memcpy(value, from, bytes);
      value[bytes] = '\0';
      return;
    }
    at = end;
  }
}

static void say(const char *text) {
  printf("{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"stub\",\"update\":"
         "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"%s\"}}}}\n",
         text);
}

static void answer(const char *id, const char *result) {
  printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", id, result);
}

static void take_turn(const char *line, const char *id) {
  const char *chunks = strstr(line, "[chunks ");
  if (strstr(line, "[wait]") != NULL) {
    say("waiting");
    memcpy(turn, id, ID_BYTES);
    return;
  }
  char text[64];
  long count = chunks == NULL ? 1 : atol(chunks + 8);
  for (long n = 0; n < count; n++) {
    snprintf(text, sizeof text, "piece %ld of the answer ", n);
    say(text);
  }
  answer(id, "{\"stopReason\":\"end_turn\"}");
}

static void take(const char *line) {
  char id[ID_BYTES], method[ID_BYTES];
  field(line, "id", id, sizeof id);
  field(line, "method", method, sizeof method);
  if (strcmp(method, "\"initialize\"") == 0) {
    answer(id, "{\"protocolVersion\":1,\"agentInfo\":{\"name\":\"stub\",\"version\":\"1.0.0\"},"
               "\"agentCapabilities\":{},\"authMethods\":[]}");
  } else if (strcmp(method, "\"session/new\"") == 0) {
    answer(id, "{\"sessionId\":\"stub\"}");
  } else if (strcmp(method, "\"session/prompt\"") == 0) {
    take_turn(line, id);
  } else if (strcmp(method, "\"session/cancel\"") == 0) {
    if (turn[0] != '\0') answer(turn, "{\"stopReason\":\"cancelled\"}");
    turn[0] = '\0';
  } else if (id[0] != '\0' && method[0] != '\0') {
    printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}\n", id);
  }
}

int main(void) {
  static char written[1 << 16];
  setvbuf(stdout, written, _IOFBF, sizeof written);
  char *line = NULL;
  size_t size = 0;
  while (getline(&line, &size, stdin) > 0) {
    take(line);
    fflush(stdout);
  }
  free(line);
  return 0;
}
