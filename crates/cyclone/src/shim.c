/* The calls of Cyclone DDS that need its headers. Only numbers, handles and the structs below cross to Rust.
 *
 * Payloads travel undecoded: the type below ("blob") keeps the bytes of a sample as they arrived, with their CDR header. Types are keyless,
 * as those of ROS 2 are on the wire. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dds/dds.h"
#include "dds/ddsi/ddsi_radmin.h"
#include "dds/ddsi/ddsi_serdata.h"
#include "dds/ddsi/ddsi_sertype.h"
#include "dds/ddsrt/heap.h"
#include "dds/ddsrt/log.h"

#define CDR_HEADER 4u

/* Severity of a log line, and the callback that receives lines. */
enum level { LEVEL_ERROR, LEVEL_WARNING, LEVEL_DEBUG };

static void (*log_line) (enum level level, const char *line, size_t size);

/* A sample: `size` bytes, followed by zeroes up to the next multiple of four, which Cyclone may read. */
struct blob {
  struct ddsi_serdata common;
  uint32_t size;
  unsigned char bytes[];
};

/* The type of a topic's samples, with the maximum size of a received one in bytes. */
struct blob_type {
  struct ddsi_sertype common;
  uint32_t max_size;
};

static const struct blob *as_blob (const struct ddsi_serdata *sample)
{
  return (const struct blob *) sample;
}

static struct blob *new_blob (const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, size_t size)
{
  const size_t padding = (4 - size % 4) % 4;
  if (size > UINT32_MAX - sizeof (struct blob) - padding)
    return NULL;
  struct blob *blob = ddsrt_malloc_s (sizeof (*blob) + size + padding);
  if (blob == NULL)
    return NULL;
  ddsi_serdata_init (&blob->common, type, kind);
  blob->common.hash = type->serdata_basehash;
  blob->size = (uint32_t) size;
  memset (blob->bytes + size, 0, padding);
  return blob;
}

static bool blob_eqkey (const struct ddsi_serdata *a, const struct ddsi_serdata *b)
{
  /* A keyless type has one instance. */
  (void) a;
  (void) b;
  return true;
}

static uint32_t blob_size (const struct ddsi_serdata *sample)
{
  return as_blob (sample)->size;
}

/* `size` is the size that the sender announced. Cyclone calls this once the whole sample has arrived, in fragments that are ordered by offset
 * and may overlap. */
static struct ddsi_serdata *blob_from_ser (const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, const struct ddsi_rdata *fragments, size_t size)
{
  const uint32_t max_size = ((const struct blob_type *) type)->max_size;
  if (size > max_size)
  {
    char line[256];
    const int length = snprintf (line, sizeof (line), "a %s of %zu bytes is dropped: at most %" PRIu32 " are taken", type->type_name, size, max_size);
    log_line (LEVEL_WARNING, line, length < (int) sizeof (line) ? (size_t) length : sizeof (line) - 1);
    return NULL;
  }
  struct blob *blob = new_blob (type, kind, size);
  if (blob == NULL)
    return NULL;
  uint32_t done = 0;
  for (const struct ddsi_rdata *part = fragments; part != NULL; part = part->nextfrag)
  {
    if (part->min > done || part->maxp1 > size)
      break;
    if (part->maxp1 > done)
    {
      const unsigned char *payload = DDSI_RMSG_PAYLOADOFF (part->rmsg, DDSI_RDATA_PAYLOAD_OFF (part));
      memcpy (blob->bytes + done, payload + (done - part->min), part->maxp1 - done);
      done = part->maxp1;
    }
  }
  if (done != size || size < CDR_HEADER)
  {
    ddsi_serdata_unref (&blob->common);
    return NULL;
  }
  return &blob->common;
}

static struct ddsi_serdata *blob_from_ser_iov (const struct ddsi_sertype *type, enum ddsi_serdata_kind kind, ddsrt_msg_iovlen_t count, const ddsrt_iovec_t *parts, size_t size)
{
  struct blob *blob = new_blob (type, kind, size);
  if (blob == NULL)
    return NULL;
  size_t done = 0;
  for (ddsrt_msg_iovlen_t i = 0; i < count && done < size; i++)
  {
    const size_t length = parts[i].iov_len < size - done ? parts[i].iov_len : size - done;
    memcpy (blob->bytes + done, parts[i].iov_base, length);
    done += length;
  }
  memset (blob->bytes + done, 0, size - done);
  return &blob->common;
}

static struct ddsi_serdata *blob_from_keyhash (const struct ddsi_sertype *type, const struct ddsi_keyhash *hash)
{
  /* The key of a keyless type is empty, whatever a peer sends. */
  (void) hash;
  struct blob *blob = new_blob (type, SDK_KEY, CDR_HEADER);
  if (blob == NULL)
    return NULL;
  memcpy (blob->bytes, (const unsigned char[]) { 0, 1, 0, 0 }, CDR_HEADER);
  return &blob->common;
}

static void blob_to_ser (const struct ddsi_serdata *sample, size_t offset, size_t size, void *to)
{
  memcpy (to, as_blob (sample)->bytes + offset, size);
}

static struct ddsi_serdata *blob_to_ser_ref (const struct ddsi_serdata *sample, size_t offset, size_t size, ddsrt_iovec_t *to)
{
  to->iov_base = (void *) (as_blob (sample)->bytes + offset);
  to->iov_len = (ddsrt_iov_len_t) size;
  return ddsi_serdata_ref (sample);
}

static void blob_to_ser_unref (struct ddsi_serdata *sample, const ddsrt_iovec_t *from)
{
  (void) from;
  ddsi_serdata_unref (sample);
}

static struct ddsi_serdata *blob_to_untyped (const struct ddsi_serdata *sample)
{
  struct blob *blob = new_blob (sample->type, SDK_KEY, CDR_HEADER);
  if (blob == NULL)
    return NULL;
  memset (blob->bytes, 0, CDR_HEADER);
  blob->common.type = NULL;
  blob->common.hash = sample->hash;
  blob->common.timestamp.v = INT64_MIN;
  return &blob->common;
}

static void blob_free (struct ddsi_serdata *sample)
{
  ddsrt_free (sample);
}

static size_t blob_print (const struct ddsi_sertype *type, const struct ddsi_serdata *sample, char *to, size_t size)
{
  (void) type;
  return (size_t) snprintf (to, size, "(%" PRIu32 " bytes)", as_blob (sample)->size);
}

static void blob_keyhash (const struct ddsi_serdata *sample, struct ddsi_keyhash *to, bool force_md5)
{
  (void) sample;
  (void) force_md5;
  memset (to, 0, sizeof (*to));
}

/* Nothing decodes samples here: `from_sample`, `to_sample` and the loans stay empty, and only functions ending in "cdr" are called. */
static const struct ddsi_serdata_ops blob_ops = {
  .eqkey = blob_eqkey,
  .get_size = blob_size,
  .from_ser = blob_from_ser,
  .from_ser_iov = blob_from_ser_iov,
  .from_keyhash = blob_from_keyhash,
  .to_ser = blob_to_ser,
  .to_ser_ref = blob_to_ser_ref,
  .to_ser_unref = blob_to_ser_unref,
  .to_untyped = blob_to_untyped,
  .free = blob_free,
  .print = blob_print,
  .get_keyhash = blob_keyhash
};

static void type_free (struct ddsi_sertype *type)
{
  ddsi_sertype_fini (type);
  ddsrt_free (type);
}

static bool type_equal (const struct ddsi_sertype *a, const struct ddsi_sertype *b)
{
  /* Cyclone has already compared names and operations. */
  return ((const struct blob_type *) a)->max_size == ((const struct blob_type *) b)->max_size;
}

static uint32_t type_hash (const struct ddsi_sertype *type)
{
  return ((const struct blob_type *) type)->max_size;
}

static void type_zero_samples (const struct ddsi_sertype *type, void *samples, size_t count)
{
  (void) type;
  (void) samples;
  (void) count;
}

static void type_free_samples (const struct ddsi_sertype *type, void **samples, size_t count, dds_free_op_t op)
{
  (void) type;
  (void) samples;
  (void) count;
  (void) op;
}

static const struct ddsi_sertype_ops type_ops = {
  .version = ddsi_sertype_v0,
  .free = type_free,
  .zero_samples = type_zero_samples,
  .free_samples = type_free_samples,
  .equal = type_equal,
  .hash = type_hash
};

/* Quality of service of a reader or writer; times in nanoseconds. */
struct shim_qos {
  int64_t max_blocking;
  int64_t lifespan;
  const void *user_data;
  size_t user_data_size;
  int32_t depth;
  bool is_reliable;
  bool is_durable;
  bool ignores_own;
};

static dds_qos_t *policies (const struct shim_qos *qos)
{
  dds_qos_t *to = dds_create_qos ();
  dds_qset_userdata (to, qos->user_data, qos->user_data_size);
  dds_qset_writer_data_lifecycle (to, false);
  dds_qset_history (to, DDS_HISTORY_KEEP_LAST, qos->depth);
  dds_qset_reliability (to, qos->is_reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, qos->max_blocking);
  dds_qset_durability (to, qos->is_durable ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
  if (qos->is_durable)
    dds_qset_durability_service (to, 0, DDS_HISTORY_KEEP_LAST, qos->depth, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
  dds_qset_lifespan (to, qos->lifespan);
  if (qos->ignores_own)
    dds_qset_ignorelocal (to, DDS_IGNORELOCAL_PARTICIPANT);
  /* XCDR1 only, the encoding of ROS 2. */
  const dds_data_representation_id_t representation = DDS_DATA_REPRESENTATION_XCDR1;
  dds_qset_data_representation (to, 1, &representation);
  return to;
}

dds_entity_t shim_create_participant (dds_domainid_t domain, const void *user_data, size_t size)
{
  dds_qos_t *qos = dds_create_qos ();
  dds_qset_userdata (qos, user_data, size);
  const dds_entity_t participant = dds_create_participant (domain, qos, NULL);
  dds_delete_qos (qos);
  return participant;
}

/* Creates a topic of undecoded samples. Received samples of more than `max_size` bytes are dropped. */
dds_entity_t shim_create_topic (dds_entity_t participant, const char *name, const char *type_name, uint32_t max_size)
{
  struct blob_type *type = ddsrt_malloc (sizeof (*type));
  type->max_size = max_size;
  ddsi_sertype_init_flags (&type->common, type_name, &type_ops, &blob_ops, DDSI_SERTYPE_FLAG_TOPICKIND_NO_KEY);
  type->common.allowed_data_representation = DDS_DATA_REPRESENTATION_FLAG_XCDR1;
  struct ddsi_sertype *common = &type->common;
  const dds_entity_t topic = dds_create_topic_sertype (participant, name, &common, NULL, NULL, NULL);
  if (topic < 0)
    ddsi_sertype_unref (common);
  return topic;
}

dds_entity_t shim_create_reader (dds_entity_t participant, dds_entity_t topic, const struct shim_qos *qos)
{
  dds_qos_t *all = policies (qos);
  const dds_entity_t reader = dds_create_reader (participant, topic, all, NULL);
  dds_delete_qos (all);
  return reader;
}

dds_entity_t shim_create_writer (dds_entity_t participant, dds_entity_t topic, const struct shim_qos *qos)
{
  dds_qos_t *all = policies (qos);
  const dds_entity_t writer = dds_create_writer (participant, topic, all, NULL);
  dds_delete_qos (all);
  return writer;
}

enum discovery { PARTICIPANTS, SUBSCRIPTIONS, PUBLICATIONS };

/* Creates a reader of participants or endpoints that discovery finds. */
dds_entity_t shim_create_discovery_reader (dds_entity_t participant, enum discovery kind)
{
  const dds_entity_t topics[] = { DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION, DDS_BUILTIN_TOPIC_DCPSPUBLICATION };
  return dds_create_reader (participant, topics[kind], NULL, NULL);
}

/* A participant or endpoint that discovery has found or lost. Of those lost, only the handle and `guid` are set. */
struct shim_found {
  uint64_t handle;
  /* Valid until `shim_release_found`, as `loan` is. */
  const char *topic;
  const char *type_name;
  void *loan;
  uint8_t guid[16];
  uint8_t participant[16];
  bool is_alive;
  bool is_reliable;
  bool is_durable;
};

/* Takes the next participant or endpoint. Returns 1, 0 if there is none, or an error. */
int32_t shim_take_found (dds_entity_t reader, enum discovery kind, struct shim_found *to)
{
  void *sample = NULL;
  dds_sample_info_t info;
  memset (to, 0, sizeof (*to));
  const dds_return_t count = dds_take (reader, &sample, &info, 1, 1);
  if (count <= 0)
    return count;
  to->loan = sample;
  to->handle = info.instance_handle;
  to->is_alive = info.instance_state == DDS_IST_ALIVE && info.valid_data;
  if (kind == PARTICIPANTS)
  {
    memcpy (to->guid, ((const dds_builtintopic_participant_t *) sample)->key.v, sizeof (to->guid));
    return 1;
  }
  const dds_builtintopic_endpoint_t *endpoint = sample;
  memcpy (to->guid, endpoint->key.v, sizeof (to->guid));
  if (to->is_alive)
  {
    dds_reliability_kind_t reliability = DDS_RELIABILITY_BEST_EFFORT;
    dds_durability_kind_t durability = DDS_DURABILITY_VOLATILE;
    (void) dds_qget_reliability (endpoint->qos, &reliability, NULL);
    (void) dds_qget_durability (endpoint->qos, &durability);
    memcpy (to->participant, endpoint->participant_key.v, sizeof (to->participant));
    to->topic = endpoint->topic_name;
    to->type_name = endpoint->type_name;
    to->is_reliable = reliability == DDS_RELIABILITY_RELIABLE;
    to->is_durable = durability != DDS_DURABILITY_VOLATILE;
  }
  return 1;
}

void shim_release_found (dds_entity_t reader, struct shim_found *found)
{
  (void) dds_return_loan (reader, &found->loan, 1);
}

/* A received sample. `bytes` is null if the sample only announces that its writer is leaving. */
struct shim_message {
  struct ddsi_serdata *sample;
  const uint8_t *bytes;
  size_t size;
  uint64_t writer;
  int64_t written;
};

/* Takes the next sample, to be released by `shim_release_message`. Returns 1, 0 if there is none, or an error. */
int32_t shim_take_message (dds_entity_t reader, struct shim_message *to)
{
  dds_sample_info_t info;
  memset (to, 0, sizeof (*to));
  const dds_return_t count = dds_takecdr (reader, &to->sample, 1, &info, DDS_ANY_STATE);
  if (count <= 0)
    return count;
  to->writer = info.publication_handle;
  to->written = info.source_timestamp;
  if (info.valid_data && to->sample->kind == SDK_DATA)
  {
    to->bytes = as_blob (to->sample)->bytes;
    to->size = as_blob (to->sample)->size;
  }
  return 1;
}

void shim_release_message (struct shim_message *message)
{
  ddsi_serdata_unref (message->sample);
}

static struct ddsi_serdata *sample_of (dds_entity_t writer, enum ddsi_serdata_kind kind, const uint8_t *bytes, size_t size)
{
  const struct ddsi_sertype *type;
  if (dds_get_entity_sertype (writer, &type) < 0)
    return NULL;
  struct blob *blob = new_blob (type, kind, size);
  if (blob == NULL)
    return NULL;
  memcpy (blob->bytes, bytes, size);
  return &blob->common;
}

/* Writes a sample in CDR, with its header. */
int32_t shim_write (dds_entity_t writer, const uint8_t *bytes, size_t size)
{
  struct ddsi_serdata *sample = size < CDR_HEADER ? NULL : sample_of (writer, SDK_DATA, bytes, size);
  return sample == NULL ? DDS_RETCODE_BAD_PARAMETER : dds_writecdr (writer, sample);
}

/* Unregisters the writer's one instance (RTPS 2.5, section 9.6.4.9): readers acknowledge it and deliver nothing. */
int32_t shim_write_unregister (dds_entity_t writer)
{
  const uint8_t empty[CDR_HEADER] = { 0, 1, 0, 0 };
  struct ddsi_serdata *sample = sample_of (writer, SDK_KEY, empty, sizeof (empty));
  if (sample == NULL)
    return DDS_RETCODE_BAD_PARAMETER;
  sample->statusinfo = DDSI_STATUSINFO_UNREGISTER;
  sample->timestamp.v = dds_time ();
  return dds_forwardcdr (writer, sample);
}

/* Returns the number of connections that a reader or writer has had. */
uint32_t shim_times_matched (dds_entity_t entity, bool is_writer)
{
  if (is_writer)
  {
    dds_publication_matched_status_t status;
    return dds_get_publication_matched_status (entity, &status) < 0 ? 0 : status.total_count;
  }
  dds_subscription_matched_status_t status;
  return dds_get_subscription_matched_status (entity, &status) < 0 ? 0 : status.total_count;
}

/* Gets the identity of a writer that `reader` is connected with. Returns false if it is not connected. */
bool shim_matched_publication (dds_entity_t reader, uint64_t handle, uint8_t guid[16])
{
  dds_builtintopic_endpoint_t *endpoint = dds_get_matched_publication_data (reader, handle);
  if (endpoint == NULL)
    return false;
  memcpy (guid, endpoint->key.v, sizeof (endpoint->key.v));
  dds_builtintopic_free_endpoint (endpoint);
  return true;
}

const uint32_t shim_data_available = DDS_DATA_AVAILABLE_STATUS;
const uint32_t shim_subscription_matched = DDS_SUBSCRIPTION_MATCHED_STATUS;
const uint32_t shim_publication_matched = DDS_PUBLICATION_MATCHED_STATUS;
const uint32_t shim_requested_incompatible = DDS_REQUESTED_INCOMPATIBLE_QOS_STATUS;
const uint32_t shim_offered_incompatible = DDS_OFFERED_INCOMPATIBLE_QOS_STATUS;

static void log_sink (void *nothing, const dds_log_data_t *data)
{
  (void) nothing;
  const enum level level = data->priority & (DDS_LC_FATAL | DDS_LC_ERROR) ? LEVEL_ERROR : data->priority & DDS_LC_WARNING ? LEVEL_WARNING : LEVEL_DEBUG;
  log_line (level, data->message, data->size);
}

/* Passes every line of the log to `line`. */
void shim_set_log (void (*line) (enum level level, const char *line, size_t size))
{
  log_line = line;
  dds_set_log_sink (log_sink, NULL);
}
