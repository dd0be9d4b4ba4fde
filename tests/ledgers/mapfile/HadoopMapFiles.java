import java.io.*;
import java.nio.file.*;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.*;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.util.ReflectionUtils;

/**
 * Hadoop's own MapFile writer and reader, told line by line what to do:
 *
 *   write FOLDER RECORDS COMPRESSION CODEC BLOCK_BYTES INDEX_INTERVAL
 *   read FOLDER RECORDS
 *   get FOLDER RECORDS    the same, each record looked up by its key, the last one first
 *
 * RECORDS is a file of records, each [ key i64 ][ length i32 ][ bytes ]. A line that fails is answered by its error.
 */
public class HadoopMapFiles {
    public static void main(String[] args) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t");
            try {
                if (words[0].equals("write")) {
                    write(words);
                } else if (words[0].equals("get")) {
                    get(words[1], words[2]);
                } else {
                    read(words[1], words[2]);
                }
                System.out.println("done");
            } catch (Throwable error) {
                System.out.println(error.toString().split("\n")[0]);
            }
        }
    }

    static void write(String[] words) throws Exception {
        Configuration conf = new Configuration();
        conf.set("io.seqfile.compress.blocksize", words[5]);
        conf.set("io.map.index.interval", words[6]);
        SequenceFile.CompressionType type = SequenceFile.CompressionType.valueOf(words[3]);
        Class<?> codec = conf.getClassByName("org.apache.hadoop.io.compress." + words[4]);
        MapFile.Writer writer = new MapFile.Writer(conf, new Path("file://" + words[1]),
            MapFile.Writer.keyClass(LongWritable.class), MapFile.Writer.valueClass(BytesWritable.class),
            MapFile.Writer.compression(type, (CompressionCodec) ReflectionUtils.newInstance(codec, conf)));
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(Paths.get(words[2]))))) {
            LongWritable key = new LongWritable();
            BytesWritable value = new BytesWritable();
            while (true) {
                try {
                    key.set(in.readLong());
                } catch (EOFException end) {
                    break;
                }
                byte[] body = new byte[in.readInt()];
                in.readFully(body);
                value.set(body, 0, body.length);
                writer.append(key, value);
            }
        } finally {
            writer.close();
        }
    }

    static void read(String folder, String records) throws Exception {
        MapFile.Reader reader = new MapFile.Reader(new Path("file://" + folder), new Configuration());
        LongWritable key = new LongWritable();
        BytesWritable value = new BytesWritable();
        try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(Paths.get(records))))) {
            while (reader.next(key, value)) {
                out.writeLong(key.get());
                out.writeInt(value.getLength());
                out.write(value.getBytes(), 0, value.getLength());
            }
        } finally {
            reader.close();
        }
    }

    static void get(String folder, String records) throws Exception {
        MapFile.Reader reader = new MapFile.Reader(new Path("file://" + folder), new Configuration());
        java.util.ArrayDeque<byte[]> found = new java.util.ArrayDeque<>();
        LongWritable key = new LongWritable();
        reader.finalKey(key);
        for (long wanted = key.get(); wanted >= -1; wanted--) {
            BytesWritable value = new BytesWritable();
            if (reader.get(new LongWritable(wanted), value) == null) {
                throw new IOException("key " + wanted + " is not found");
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeLong(wanted);
            out.writeInt(value.getLength());
            out.write(value.getBytes(), 0, value.getLength());
            found.addFirst(bytes.toByteArray());
        }
        reader.close();
        try (OutputStream out = Files.newOutputStream(Paths.get(records))) {
            for (byte[] record : found) {
                out.write(record);
            }
        }
    }
}
