package mongodyno;

import java.util.Date;
import org.bson.codecs.pojo.annotations.BsonId;
import org.bson.codecs.pojo.annotations.BsonProperty;
import org.bson.types.ObjectId;

/** The shape small_document, mapped by the driver's POJO codec. */
public final class SmallDocument implements Driver.Shaped {
  @BsonId public ObjectId id;

  @BsonProperty("No")
  public int number;

  @BsonProperty("Established")
  public Date established;

  @Override
  public Object get(String field) {
    return field.equals("No") ? number : null;
  }
}
