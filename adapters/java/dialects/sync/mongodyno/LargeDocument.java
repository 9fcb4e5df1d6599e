package mongodyno;

import java.util.Date;
import org.bson.codecs.pojo.annotations.BsonId;
import org.bson.codecs.pojo.annotations.BsonProperty;
import org.bson.types.ObjectId;

/** The shape large_document, mapped by the driver's POJO codec. */
public final class LargeDocument implements Driver.Shaped {
  @BsonId public ObjectId id;

  @BsonProperty("DataBytes")
  public byte[] dataBytes;

  @BsonProperty("Established")
  public Date established;

  @Override
  public Object get(String field) {
    return null;
  }
}
